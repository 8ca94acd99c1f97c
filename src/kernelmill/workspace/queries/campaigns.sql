SELECT id, made_at, settings FROM campaigns ORDER BY id
