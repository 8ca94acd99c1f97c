SELECT t.attempt, t.sweep, t.choices, t.bar, t.expected, t.deviation, t.chance, t.doubted, t.skipped,
    (SELECT json_group_array(ratio) FROM
        (SELECT ratio FROM measurements m WHERE m.attempt = t.attempt ORDER BY position)) AS ratios,
    (SELECT max(counted) FROM measurements m WHERE m.attempt = t.attempt) AS counted
FROM sweep_trials t
WHERE t.sweep = :sweep
ORDER BY t.attempt
