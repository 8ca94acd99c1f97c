SELECT id, number, state, stage, gate, reason, ratio, latency_ms, parent, cost_usd, done_at
FROM attempts WHERE campaign = :campaign AND task = :task AND state != 'claimed'
ORDER BY number DESC LIMIT :most OFFSET :skip
