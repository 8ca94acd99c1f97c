INSERT INTO sources (digest, files) VALUES (:digest, :files) ON CONFLICT DO NOTHING
