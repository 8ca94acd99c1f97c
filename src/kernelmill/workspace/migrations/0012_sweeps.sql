-- A space of combinations that an attempt brought: the parameters of its template, or the decisions
-- of the generator that are open for the task.
CREATE TABLE sweeps (
    attempt INTEGER PRIMARY KEY REFERENCES attempts,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    task INTEGER NOT NULL REFERENCES tasks,
    island INTEGER NOT NULL,
    is_template INTEGER NOT NULL CHECK (is_template IN (0, 1)),
    space BLOB NOT NULL
) STRICT;

CREATE INDEX sweeps_by_task ON sweeps (campaign, task, is_template);

-- Every judged combination of a sweep, and what the surrogate expected of it. Levels are logarithms
-- of the speed as a multiple of the baseline's.
CREATE TABLE sweep_trials (
    attempt INTEGER PRIMARY KEY REFERENCES attempts,
    sweep INTEGER NOT NULL REFERENCES sweeps,
    choices TEXT NOT NULL,
    bar REAL,
    expected REAL,
    deviation REAL,
    chance REAL,
    doubted INTEGER NOT NULL CHECK (doubted IN (0, 1)),
    skipped INTEGER NOT NULL
) STRICT;

CREATE INDEX sweep_trials_by_sweep ON sweep_trials (sweep);
