-- The passed attempts of a campaign with known resources, and their speed over all measurements.
SELECT a.task, a.id AS attempt, a.latency_ms, m.speed, a.peak_bytes, a.energy_joules
FROM attempts a JOIN measured_speeds m ON m.attempt = a.id
WHERE a.campaign = :campaign AND a.state = 'passed' AND m.refusals = 0
    AND (a.peak_bytes IS NOT NULL OR a.energy_joules IS NOT NULL)
ORDER BY a.task, a.id
