SELECT * FROM items_without_embeddings WHERE fingerprint = :fingerprint
