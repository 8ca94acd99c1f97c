SELECT a.id, a.ratio FROM campaign_tasks c JOIN attempts a ON a.id = c.champion
WHERE c.campaign = :campaign AND a.ratio IS NOT NULL ORDER BY a.ratio DESC LIMIT 1
