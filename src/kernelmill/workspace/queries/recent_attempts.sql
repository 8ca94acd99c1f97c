SELECT a.*, t.name AS task_name FROM attempts a JOIN tasks t ON t.id = a.task
WHERE a.campaign = :campaign AND a.task = :task AND a.state != 'claimed'
ORDER BY a.number DESC LIMIT :most
