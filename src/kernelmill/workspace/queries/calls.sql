SELECT role, model, tokens_in, tokens_out, cost_usd, seconds, problem, cached FROM calls
WHERE attempt = :attempt ORDER BY number
