SELECT decisions FROM items
WHERE kind = 'trace' AND backend = :backend AND category = '' AND outcome > -1
ORDER BY count DESC, id DESC
LIMIT :most
