SELECT task, number, state, ratio FROM attempts
WHERE campaign = :campaign AND state != 'claimed'
ORDER BY task, number
