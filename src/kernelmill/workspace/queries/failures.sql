SELECT state, coalesce(gate, '') AS gate, reason, count(*) AS attempts, max(id) AS example
FROM attempts
WHERE campaign = :campaign AND task = :task AND state IN ('refused', 'declined')
GROUP BY state, gate, reason ORDER BY attempts DESC, example DESC LIMIT :most
