-- Of all other tasks of a campaign, the latest; looked for among the latest of all tasks, because
-- the rest of a long campaign would be read in vain where it has one task.
SELECT attempt, number, strategy, operator, island, parent, partner, parent_cell, target, cell,
    outcome, speed, gain, progress
FROM (
    SELECT * FROM offspring WHERE campaign = :campaign ORDER BY attempt DESC LIMIT 8 * :most
)
WHERE task <> :task
ORDER BY attempt DESC LIMIT :most
