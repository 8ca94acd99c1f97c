-- After some attempts were measured again: of the fastest ones, the fastest that was measured more than
-- once and never refused.
WITH fastest AS (
    SELECT id, ratio FROM attempts
    WHERE campaign = :campaign AND task = :task AND state = 'passed'
    ORDER BY ratio DESC, id LIMIT 64
),
contenders AS (
    SELECT f.id, coalesce(m.measurements, 0) > 1 AS confirmed, coalesce(m.speed, f.ratio) AS speed
    FROM fastest f LEFT JOIN measured_speeds m ON m.attempt = f.id
    WHERE coalesce(m.refusals, 0) = 0
)
UPDATE campaign_tasks SET champion = (
    SELECT id FROM contenders ORDER BY confirmed DESC, speed DESC, id LIMIT 1
)
WHERE campaign = :campaign AND task = :task AND champion IS NOT NULL
