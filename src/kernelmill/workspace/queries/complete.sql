UPDATE attempts SET
    state = :state, done_at = :done_at, stage = :stage, seed = :seed, parent = :parent,
    gate = :gate, reason = :reason, latency_ms = :latency_ms, ratio = :ratio,
    peak_bytes = :peak_bytes, energy_joules = :energy_joules,
    tokens_in = :tokens_in, tokens_out = :tokens_out, cost_usd = :cost_usd,
    generate_seconds = :generate_seconds, build_seconds = :build_seconds,
    wait_seconds = :wait_seconds, measure_seconds = :measure_seconds,
    origin = :origin, source = :source, instruction = :instruction, prediction = :prediction,
    decisions = :decisions, context = :context, credit = :credit
WHERE id = :attempt AND state = 'claimed' AND owner = :owner
