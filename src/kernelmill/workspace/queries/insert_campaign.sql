INSERT INTO campaigns (made_at, settings) VALUES (:made_at, :settings) RETURNING id
