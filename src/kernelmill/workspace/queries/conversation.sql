SELECT m.call, m.speaker, t.body FROM call_messages m JOIN texts t ON t.id = m.text
WHERE m.attempt = :attempt ORDER BY m.call, m.position
