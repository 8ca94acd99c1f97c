SELECT id, subject FROM items ORDER BY id
