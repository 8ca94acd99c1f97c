INSERT INTO sweep_trials
    (attempt, sweep, choices, bar, expected, deviation, chance, doubted, skipped)
VALUES (:attempt, :sweep, :choices, :bar, :expected, :deviation, :chance, :doubted, :skipped)
