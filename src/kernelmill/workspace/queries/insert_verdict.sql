INSERT INTO verdicts (attempt, kind, body) VALUES (:attempt, :kind, :body)
ON CONFLICT DO UPDATE SET body = excluded.body
