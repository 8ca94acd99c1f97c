CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY,
    made_at TEXT NOT NULL,
    settings TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (name, digest)
) STRICT;

-- Source files by content: the same candidate is stored once.
CREATE TABLE sources (
    digest TEXT PRIMARY KEY,
    files BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    task INTEGER NOT NULL REFERENCES tasks,
    number INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'passed', 'refused', 'declined')),
    owner TEXT NOT NULL,
    planned_at TEXT NOT NULL,
    done_at TEXT,
    stage TEXT,
    seed INTEGER,
    parent INTEGER REFERENCES attempts,
    gate TEXT,
    reason TEXT,
    latency_ms REAL,
    ratio REAL,
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost_usd REAL,
    generate_seconds REAL,
    build_seconds REAL,
    wait_seconds REAL,
    measure_seconds REAL,
    origin TEXT,
    source TEXT REFERENCES sources,
    instruction TEXT,
    prediction TEXT,
    decisions TEXT,
    context BLOB,
    UNIQUE (campaign, task, number)
) STRICT;

-- Several verdicts per attempt: the first, the one that confirmed a champion, the final one.
CREATE TABLE verdicts (
    attempt INTEGER NOT NULL REFERENCES attempts,
    kind TEXT NOT NULL CHECK (kind IN ('first', 'confirming', 'final')),
    body BLOB NOT NULL,
    PRIMARY KEY (attempt, kind)
) STRICT;

CREATE TABLE campaign_tasks (
    campaign INTEGER NOT NULL REFERENCES campaigns,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    task INTEGER REFERENCES tasks,
    set_aside TEXT,
    champion INTEGER REFERENCES attempts,
    PRIMARY KEY (campaign, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE INDEX attempts_by_outcome
    ON attempts (campaign, task, number, state, ratio, latency_ms, parent, wait_seconds,
                 measure_seconds, cost_usd);
CREATE INDEX events_by_campaign ON events (campaign);
CREATE INDEX attempts_planned ON attempts (campaign, task, number) WHERE state = 'planned';
