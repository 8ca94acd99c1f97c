-- Every measurement of an attempt, in order: the speed as a multiple of the baseline's in its first
-- verdict and in those from new processes; NULL where it was refused. A
-- deterministic model counted it, or else a clock measured it.
CREATE TABLE measurements (
    attempt INTEGER NOT NULL REFERENCES attempts,
    position INTEGER NOT NULL,
    ratio REAL CHECK (ratio > 0.0 AND ratio < 1e300),
    counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
    PRIMARY KEY (attempt, position)
) STRICT, WITHOUT ROWID;

-- The first measurement decided whether there was a second one, so it does not count beside others.
CREATE VIEW measured_speeds AS
SELECT attempt, count(*) AS measurements, sum(ratio IS NULL) AS refusals,
    coalesce(avg(ratio) FILTER (WHERE position > 1), avg(ratio)) AS speed
FROM measurements GROUP BY attempt;

-- The owner of each behaviour cell on each island of a task's archive.
CREATE TABLE elites (
    campaign INTEGER NOT NULL REFERENCES campaigns,
    task INTEGER NOT NULL REFERENCES tasks,
    island INTEGER NOT NULL,
    cell TEXT NOT NULL,
    attempt INTEGER NOT NULL REFERENCES attempts,
    entered INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (campaign, task, island, cell)
) STRICT, WITHOUT ROWID;

-- How each judged attempt of an archive came about, and what came of it. Those that failed have no
-- cell.
CREATE TABLE offspring (
    attempt INTEGER PRIMARY KEY REFERENCES attempts,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    task INTEGER NOT NULL REFERENCES tasks,
    number INTEGER NOT NULL,
    strategy TEXT NOT NULL,
    operator TEXT NOT NULL,
    island INTEGER NOT NULL,
    parent INTEGER,
    partner INTEGER,
    parent_cell TEXT,
    target TEXT NOT NULL,
    cell TEXT,
    outcome TEXT NOT NULL CHECK (outcome IN ('best', 'elite', 'beaten', 'known', 'failed')),
    speed REAL,
    gain REAL,
    progress REAL NOT NULL,
    vector BLOB
) STRICT;

CREATE INDEX offspring_by_task ON offspring (campaign, task, number);
CREATE INDEX offspring_by_island ON offspring (campaign, task, island, number);
CREATE INDEX offspring_by_cell ON offspring (campaign, task, island, cell, speed);
CREATE INDEX offspring_by_speed ON offspring (campaign, task, speed);
CREATE INDEX offspring_by_parent ON offspring (campaign, task, parent);
CREATE INDEX attempts_by_source ON attempts (campaign, task, source);

-- Every try to implement an intent: what was predicted, and what came of it. The gain is NULL where it
-- was refused; both are logarithms of a speed-up.
CREATE TABLE intent_tries (
    attempt INTEGER PRIMARY KEY REFERENCES attempts,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    task INTEGER NOT NULL REFERENCES tasks,
    backend TEXT NOT NULL,
    family TEXT NOT NULL,
    intent TEXT NOT NULL,
    base INTEGER NOT NULL,
    predicted REAL NOT NULL,
    difficulty REAL NOT NULL,
    gain REAL
) STRICT;

CREATE INDEX intent_tries_by_task ON intent_tries (campaign, task);
CREATE INDEX intent_tries_by_name ON intent_tries (backend, intent);
