-- Of every campaign on one backend, the fastest champion of each task.
SELECT c.name, a.id AS attempt, max(a.ratio) AS ratio
FROM campaign_tasks c
JOIN attempts a ON a.id = c.champion
JOIN campaigns p ON p.id = c.campaign
WHERE json_extract(p.settings, '$.backend') = :backend
GROUP BY c.task
