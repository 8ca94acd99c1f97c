-- Time of the judge and cost by task; the index of outcomes has all of it.
SELECT task, coalesce(sum(wait_seconds), 0.0) + coalesce(sum(measure_seconds), 0.0) AS seconds,
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd
FROM attempts WHERE campaign = :campaign AND state != 'claimed' GROUP BY task
