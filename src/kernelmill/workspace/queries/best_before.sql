-- The best ratio of a task in its campaign before one of its attempts, and the generator.
SELECT json_extract(c.settings, '$.generator') AS generator,
    (SELECT max(b.ratio) FROM attempts b
     WHERE b.campaign = a.campaign AND b.task = a.task AND b.id <> a.id) AS best_before
FROM attempts a JOIN campaigns c ON c.id = a.campaign
WHERE a.id = :attempt
