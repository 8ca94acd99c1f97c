-- Items carry code: a change from one source to another, with the evidence for it. A practice is the
-- change that made a kernel faster; a failure has the change that mended it, once there is one.
ALTER TABLE items ADD COLUMN change_from TEXT REFERENCES sources;
ALTER TABLE items ADD COLUMN change_to TEXT REFERENCES sources;
ALTER TABLE items ADD COLUMN evidence BLOB;
-- The model that wrote the candidate; empty where none did.
ALTER TABLE items ADD COLUMN model TEXT NOT NULL DEFAULT '';
DROP VIEW items_without_embeddings;
CREATE VIEW items_without_embeddings AS
SELECT id, kind, fingerprint, text, decisions, outcome, category, names, task, family, backend,
    generator, model, imported_from, campaign, attempt, source, change_from, change_to, evidence,
    subject, count, made_at, seen_at
FROM items;

-- Items of a shown context that were in the prompt, and those that the candidate used; NULL where the
-- generator does not say.
ALTER TABLE attempts ADD COLUMN credit TEXT;

-- The changes of items that are there already are those between their attempts.
UPDATE items SET change_to = source, change_from = (
    SELECT p.source FROM attempts a JOIN attempts p ON p.id = a.parent WHERE a.id = items.attempt
)
WHERE kind = 'practice' OR category = 'slower';
UPDATE items SET change_to = NULL WHERE change_from IS NULL;
UPDATE items SET model = coalesce((
    SELECT c.model FROM calls c
    WHERE c.attempt = items.attempt AND c.role IN ('generator', 'repairer', 'optimizer')
    ORDER BY c.number DESC LIMIT 1
), '')
WHERE attempt IS NOT NULL;
-- Blame is in the decisions alone, so that it can change.
UPDATE items SET text = substr(text, 1, instr(text, ' Avoid: ') - 1)
WHERE category = 'failure' AND instr(text, ' Avoid: ') > 0;

-- A decline was taken for a failure of a kernel.
UPDATE memory_facts SET value = value + 1 WHERE name = 'removals' AND EXISTS (
    SELECT 1 FROM items i JOIN attempts a ON a.id = i.attempt WHERE a.state = 'declined'
);
INSERT INTO memory_facts (name, value) SELECT 'removals', '1' WHERE EXISTS (
    SELECT 1 FROM items i JOIN attempts a ON a.id = i.attempt WHERE a.state = 'declined'
) ON CONFLICT DO NOTHING;
DELETE FROM items WHERE attempt IN (SELECT id FROM attempts WHERE state = 'declined');
