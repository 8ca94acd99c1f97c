-- Money, written down before it is spent: what a question may cost at most, and what it then did.
-- NULL: nobody knows it, or not yet. A kill loses an attempt, but never what it cost.
CREATE TABLE expenses (
    id INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaigns,
    most_usd REAL,
    cost_usd REAL
) STRICT;

CREATE INDEX expenses_by_campaign ON expenses (campaign, most_usd, cost_usd);
