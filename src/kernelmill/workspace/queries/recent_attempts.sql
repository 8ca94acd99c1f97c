SELECT a.*, (SELECT name FROM tasks WHERE id = a.task) AS task_name FROM attempts a
WHERE a.campaign = :campaign AND a.task = :task AND a.state != 'claimed'
ORDER BY a.number DESC LIMIT :most
