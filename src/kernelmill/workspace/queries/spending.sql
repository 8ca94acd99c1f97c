-- Calls, tokens and cost of a campaign's models, by task, role and model.
SELECT t.name AS task, c.role, c.model, count(*) AS calls,
    count(*) FILTER (WHERE c.cached) AS cached,
    count(*) FILTER (WHERE c.problem != '') AS problems,
    CASE WHEN count(*) = count(c.tokens_in) THEN sum(c.tokens_in) END AS tokens_in,
    CASE WHEN count(*) = count(c.tokens_out) THEN sum(c.tokens_out) END AS tokens_out,
    CASE WHEN count(*) = count(c.cost_usd) THEN sum(c.cost_usd) END AS cost_usd
FROM calls c JOIN attempts a ON a.id = c.attempt JOIN tasks t ON t.id = a.task
WHERE a.campaign = :campaign
GROUP BY t.name, c.role, c.model ORDER BY t.name, c.role, c.model
