-- Of every campaign on one backend, the first attempt at a task that passed.
SELECT a.id FROM attempts a
JOIN campaigns c ON c.id = a.campaign
WHERE a.task = :task AND a.state = 'passed' AND json_extract(c.settings, '$.backend') = :backend
ORDER BY a.id
LIMIT 1
