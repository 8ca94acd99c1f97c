INSERT INTO plans (attempt, body) VALUES (:attempt, :body)
