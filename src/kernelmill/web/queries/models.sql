-- Calls, cost and success of every model; an attempt counts for each model that was called for it.
SELECT c.model, c.role, count(*) AS calls, count(*) FILTER (WHERE c.problem != '') AS problems,
    sum(c.tokens_in) AS tokens_in, sum(c.tokens_out) AS tokens_out,
    CASE WHEN count(*) = count(c.cost_usd) THEN sum(c.cost_usd) END AS cost_usd,
    avg(c.seconds) AS seconds, count(DISTINCT c.attempt) AS attempts,
    count(DISTINCT c.attempt) FILTER (WHERE a.state = 'passed') AS passed
FROM calls c JOIN attempts a ON a.id = c.attempt
GROUP BY c.model, c.role ORDER BY c.model, c.role
