SELECT a.id, a.state, a.ratio, a.stage, a.context, a.done_at, t.name AS task
FROM shown_items s JOIN attempts a ON a.id = s.attempt JOIN tasks t ON t.id = a.task
WHERE s.item = :item ORDER BY s.attempt DESC LIMIT :most
