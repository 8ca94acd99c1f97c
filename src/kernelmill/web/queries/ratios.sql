SELECT c.name, a.ratio FROM campaign_tasks c LEFT JOIN attempts a ON a.id = c.champion
WHERE c.campaign = :campaign ORDER BY c.position
