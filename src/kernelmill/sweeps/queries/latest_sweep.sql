SELECT attempt, island, space FROM sweeps
WHERE campaign = :campaign AND task = :task AND is_template = :is_template
ORDER BY attempt DESC
LIMIT 1
