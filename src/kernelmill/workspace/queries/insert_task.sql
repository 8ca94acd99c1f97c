INSERT INTO tasks (name, digest, body) VALUES (:name, :digest, :body) ON CONFLICT DO NOTHING
