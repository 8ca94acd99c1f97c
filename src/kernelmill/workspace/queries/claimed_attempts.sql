SELECT id, number, owner FROM attempts
WHERE campaign = :campaign AND task = :task AND state = 'claimed'
ORDER BY number
