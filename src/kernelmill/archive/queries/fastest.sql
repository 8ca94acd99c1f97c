-- The fastest offspring of a task, elites or not.
SELECT o.attempt, o.island, o.cell, o.vector, 0 AS children,
    (SELECT json_group_array(ratio) FROM
        (SELECT ratio FROM measurements m WHERE m.attempt = o.attempt ORDER BY position)) AS ratios,
    (SELECT max(counted) FROM measurements m WHERE m.attempt = o.attempt) AS counted
FROM offspring o
WHERE o.campaign = :campaign AND o.task = :task AND o.speed IS NOT NULL
ORDER BY o.speed DESC, o.attempt
LIMIT :most
