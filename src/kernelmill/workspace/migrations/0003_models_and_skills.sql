-- Calls to models: one row per call, whether its answer could be used or not.
CREATE TABLE calls (
    attempt INTEGER NOT NULL REFERENCES attempts,
    number INTEGER NOT NULL,
    role TEXT NOT NULL,
    model TEXT NOT NULL,
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost_usd REAL,
    seconds REAL NOT NULL,
    problem TEXT NOT NULL,
    cached INTEGER NOT NULL,
    PRIMARY KEY (attempt, number)
) STRICT, WITHOUT ROWID;

-- Guidance, plan and diagnosis of an attempt that had any.
CREATE TABLE plans (
    attempt INTEGER PRIMARY KEY REFERENCES attempts,
    body BLOB NOT NULL
) STRICT;

-- A decline without a model call cost nothing.
UPDATE attempts SET tokens_in = 0, tokens_out = 0, cost_usd = 0.0 WHERE state = 'declined';
