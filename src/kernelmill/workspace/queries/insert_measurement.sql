INSERT INTO measurements (attempt, position, ratio, counted)
SELECT :attempt, coalesce(max(position), 0) + 1, :ratio, :counted
FROM measurements WHERE attempt = :attempt
