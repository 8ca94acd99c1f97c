INSERT INTO calls (attempt, number, role, model, tokens_in, tokens_out, cost_usd, seconds, problem,
                   cached)
VALUES (:attempt, :number, :role, :model, :tokens_in, :tokens_out, :cost_usd, :seconds, :problem,
        :cached)
