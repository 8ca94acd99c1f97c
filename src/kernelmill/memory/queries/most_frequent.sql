SELECT id FROM items
WHERE kind = :kind AND backend = :backend AND category = :category
ORDER BY count DESC, id DESC
LIMIT :most
