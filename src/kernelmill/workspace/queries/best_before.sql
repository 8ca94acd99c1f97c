-- The best ratio of a task in its campaign before one of its attempts, and the generator. An attempt
-- that starts from another campaign's has that one to beat, too.
SELECT json_extract(c.settings, '$.generator') AS generator,
    (SELECT max(ratio) FROM (
        SELECT b.ratio FROM attempts b
        WHERE b.campaign = a.campaign AND b.task = a.task AND b.id <> a.id
        UNION ALL
        SELECT p.ratio FROM attempts p WHERE p.id = a.parent
    )) AS best_before
FROM attempts a JOIN campaigns c ON c.id = a.campaign
WHERE a.id = :attempt
