SELECT * FROM items_without_embeddings WHERE kind = :kind AND backend = :backend ORDER BY id
