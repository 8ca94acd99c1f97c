SELECT e.island, e.cell, e.attempt, e.vector,
    (SELECT count(*) FROM offspring o
     WHERE o.campaign = e.campaign AND o.task = e.task AND o.parent = e.attempt) AS children,
    (SELECT json_group_array(ratio) FROM
        (SELECT ratio FROM measurements m WHERE m.attempt = e.attempt ORDER BY position)) AS ratios,
    (SELECT max(counted) FROM measurements m WHERE m.attempt = e.attempt) AS counted
FROM elites e
WHERE e.campaign = :campaign AND e.task = :task
ORDER BY e.island, e.cell
