-- The index of outcomes has all of it.
SELECT id, number, state, ratio, latency_ms, parent FROM attempts
WHERE campaign = :campaign AND task = :task AND state != 'claimed' ORDER BY number
