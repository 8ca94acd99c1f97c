SELECT id, number, owner FROM attempts
WHERE campaign = :campaign AND task = :task AND state = 'planned'
ORDER BY number
