SELECT attempt, task, island, space FROM sweeps WHERE campaign = :campaign ORDER BY attempt
