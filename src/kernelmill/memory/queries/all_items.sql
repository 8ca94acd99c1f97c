SELECT * FROM items_without_embeddings ORDER BY id
