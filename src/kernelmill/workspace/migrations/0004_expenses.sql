-- The ledger of model calls: the upper bound of a call's cost, written before the call, and its cost.
-- NULL: unknown, or not known yet. A kill loses an attempt, but never what it cost.
CREATE TABLE expenses (
    id INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    most_usd REAL,
    cost_usd REAL
) STRICT;

CREATE INDEX expenses_by_campaign ON expenses (campaign, most_usd, cost_usd);
