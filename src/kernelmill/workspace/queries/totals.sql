SELECT
    count(*) FILTER (WHERE state != 'claimed') AS done,
    count(*) FILTER (WHERE state = 'claimed') AS claimed,
    count(*) FILTER (WHERE state = 'passed') AS passed,
    count(DISTINCT task) FILTER (WHERE state = 'passed') AS solved,
    coalesce(sum(cost_usd), 0.0) AS known_usd,
    count(*) FILTER (WHERE state != 'claimed' AND cost_usd IS NULL) AS unpriced,
    max(cost_usd) AS dearest_usd,
    coalesce(sum(wait_seconds), 0.0) AS wait_seconds,
    coalesce(sum(measure_seconds), 0.0) AS measure_seconds
FROM attempts WHERE campaign = :campaign
