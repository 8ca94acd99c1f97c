-- The plus keeps SQLite from searching all traces in the index by kind.
SELECT * FROM items_without_embeddings
WHERE +kind = 'trace' AND attempt IN (SELECT value FROM json_each(:attempts))
