-- What the roles and models of a campaign were asked, and what that cost.
SELECT c.role, c.model, count(*) AS calls,
    count(*) FILTER (WHERE c.cached) AS cached,
    count(*) FILTER (WHERE c.problem != '') AS problems,
    CASE WHEN count(*) = count(c.tokens_in) THEN sum(c.tokens_in) END AS tokens_in,
    CASE WHEN count(*) = count(c.tokens_out) THEN sum(c.tokens_out) END AS tokens_out,
    CASE WHEN count(*) = count(c.cost_usd) THEN sum(c.cost_usd) END AS cost_usd,
    sum(c.seconds) AS seconds
FROM calls c JOIN attempts a ON a.id = c.attempt
WHERE a.campaign = :campaign
GROUP BY c.role, c.model ORDER BY c.role, c.model
