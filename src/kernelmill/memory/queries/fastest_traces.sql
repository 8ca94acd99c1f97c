SELECT id FROM items
WHERE kind = 'trace' AND task = :task AND outcome > -1
ORDER BY backend = :backend DESC, outcome DESC, id DESC
LIMIT :most
