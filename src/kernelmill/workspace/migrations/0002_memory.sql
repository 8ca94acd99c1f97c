CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('api', 'experience', 'trace', 'practice', 'skill')),
    -- Of what makes two items the same: they are merged.
    fingerprint TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    decisions TEXT NOT NULL,
    outcome REAL,
    category TEXT NOT NULL,
    names TEXT NOT NULL,
    task TEXT NOT NULL,
    family TEXT NOT NULL,
    backend TEXT NOT NULL,
    generator TEXT NOT NULL,
    -- Empty, or the memory it was imported from.
    imported_from TEXT NOT NULL,
    campaign INTEGER,
    attempt INTEGER REFERENCES attempts,
    source TEXT REFERENCES sources,
    -- What similarity is measured on, and where that lies.
    subject TEXT NOT NULL,
    embedding BLOB NOT NULL,
    count INTEGER NOT NULL DEFAULT 1,
    made_at TEXT NOT NULL,
    seen_at TEXT NOT NULL
) STRICT;

CREATE INDEX items_by_attempt ON items (attempt) WHERE attempt IS NOT NULL;
CREATE INDEX items_by_kind ON items (kind, backend, category, count, id);

-- `family` is empty for the value of an item over all families.
CREATE TABLE item_values (
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    stage TEXT NOT NULL CHECK (stage IN ('draft', 'refine', 'start')),
    family TEXT NOT NULL,
    value REAL NOT NULL,
    visits INTEGER NOT NULL,
    PRIMARY KEY (item, stage, family)
) STRICT, WITHOUT ROWID;

-- Running statistics of the refining reward: count, mean and sum of squared differences.
CREATE TABLE reward_statistics (
    backend TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    mean REAL NOT NULL,
    squares REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- `embedder`: who made the embeddings; `removals`: how often items were removed or embedded anew;
-- `imported` and a digest: that a file was taken in.
CREATE TABLE memory_facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
