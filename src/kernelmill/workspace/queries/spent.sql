SELECT coalesce(sum(coalesce(cost_usd, most_usd)), 0.0) FROM expenses WHERE campaign = :campaign
