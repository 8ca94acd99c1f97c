-- Items as they are read: everything but the embedding, which only an index of all vectors needs.
CREATE VIEW items_without_embeddings AS
SELECT id, kind, fingerprint, text, decisions, outcome, category, names, task, family, backend,
    generator, imported_from, campaign, attempt, source, subject, count, made_at, seen_at
FROM items;

-- Distinguishes this memory from every other one: an index on disk names the memory it belongs to.
INSERT INTO memory_facts (name, value) VALUES ('identity', lower(hex(randomblob(16))));
