SELECT count(*) AS tasks, count(set_aside) AS set_aside,
    (SELECT done_at FROM attempts
     WHERE id = (SELECT max(id) FROM attempts WHERE campaign = :campaign)) AS last_done_at
FROM campaign_tasks WHERE campaign = :campaign
