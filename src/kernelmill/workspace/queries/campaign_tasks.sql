SELECT c.position, c.name, c.task, c.set_aside, c.champion, t.body
FROM campaign_tasks c LEFT JOIN tasks t ON t.id = c.task
WHERE c.campaign = :campaign
ORDER BY c.position
