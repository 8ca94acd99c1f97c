-- Judged attempts of a task on one target in other campaigns: the fastest first, then the latest that
-- were refused.
SELECT a.*, t.name AS task_name
FROM campaigns c
JOIN attempts a ON a.campaign = c.id AND a.task = :task
JOIN tasks t ON t.id = a.task
WHERE c.id <> :campaign AND json_extract(c.settings, '$.backend') = :backend
    AND a.state IN ('passed', 'refused')
ORDER BY a.ratio IS NULL, a.ratio DESC, a.id DESC
LIMIT :most
