SELECT c.position, c.name, c.task, c.set_aside, c.champion, a.ratio,
    (SELECT count(*) FROM attempts n
     WHERE n.campaign = c.campaign AND n.task = c.task AND n.state != 'claimed') AS attempts,
    (SELECT count(*) FROM attempts n
     WHERE n.campaign = c.campaign AND n.task = c.task AND n.state = 'claimed') AS claimed
FROM campaign_tasks c LEFT JOIN attempts a ON a.id = c.champion
WHERE c.campaign = :campaign AND (:search = '' OR instr(lower(c.name), lower(:search)) > 0)
ORDER BY c.position LIMIT :most OFFSET :skip
