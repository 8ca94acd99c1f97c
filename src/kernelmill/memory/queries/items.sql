SELECT * FROM items_without_embeddings WHERE id IN (SELECT value FROM json_each(:ids))
