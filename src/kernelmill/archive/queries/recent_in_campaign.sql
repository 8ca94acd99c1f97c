-- Of all tasks of a campaign, the latest.
SELECT attempt, number, strategy, operator, island, parent, partner, parent_cell, target, cell,
    outcome, speed, gain, progress
FROM offspring WHERE campaign = :campaign AND task <> :task
ORDER BY attempt DESC LIMIT :most
