INSERT INTO answers (key, body) VALUES (:key, :body) ON CONFLICT DO NOTHING
