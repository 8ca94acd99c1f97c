SELECT attempt, number, strategy, operator, island, parent, partner, parent_cell, target, cell,
    outcome, speed, gain, progress
FROM offspring WHERE campaign = :campaign AND task = :task
ORDER BY number DESC LIMIT :most
