-- NULL where it was refused since.
UPDATE offspring SET speed =
    (SELECT CASE WHEN refusals = 0 THEN speed END FROM measured_speeds m WHERE m.attempt = :attempt)
WHERE attempt = :attempt
