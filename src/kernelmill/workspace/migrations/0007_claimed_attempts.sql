-- An attempt that a process holds and has not finished is claimed; a plan is something else.
-- A CHECK cannot be changed, so the column is replaced.
DROP INDEX attempts_planned;
DROP INDEX attempts_by_outcome;
ALTER TABLE attempts RENAME COLUMN planned_at TO claimed_at;
ALTER TABLE attempts RENAME COLUMN state TO old_state;
ALTER TABLE attempts ADD COLUMN state TEXT NOT NULL DEFAULT 'claimed'
    CHECK (state IN ('claimed', 'passed', 'refused', 'declined'));
UPDATE attempts SET state = old_state WHERE old_state != 'planned';
ALTER TABLE attempts DROP COLUMN old_state;
CREATE INDEX attempts_by_outcome
    ON attempts (campaign, task, number, state, ratio, latency_ms, parent, wait_seconds,
                 measure_seconds, cost_usd);
CREATE INDEX attempts_claimed ON attempts (campaign, task, number) WHERE state = 'claimed';
