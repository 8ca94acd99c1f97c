SELECT count(*) AS tasks, count(set_aside) AS set_aside,
    (SELECT done_at FROM attempts WHERE campaign = :campaign ORDER BY id DESC LIMIT 1)
        AS last_done_at
FROM campaign_tasks WHERE campaign = :campaign
