SELECT task, number, state, ratio FROM attempts
WHERE campaign = :campaign AND state != 'planned'
ORDER BY task, number
