INSERT INTO texts (digest, characters, body) VALUES (:digest, :characters, :body)
ON CONFLICT (digest) DO NOTHING
