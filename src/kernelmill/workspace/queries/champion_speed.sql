SELECT coalesce((SELECT speed FROM measured_speeds m WHERE m.attempt = a.id), a.ratio, 0.0) AS speed
FROM campaign_tasks c JOIN attempts a ON a.id = c.champion
WHERE c.campaign = :campaign AND c.task = :task
