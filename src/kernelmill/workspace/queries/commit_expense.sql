UPDATE expenses SET cost_usd = :cost_usd WHERE id = :expense
