SELECT a.*, t.name AS task_name FROM attempts a JOIN tasks t ON t.id = a.task
WHERE a.id = :attempt
