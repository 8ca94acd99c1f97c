-- Methods under each rule and backend: their values, and what became of the attempts that they were
-- shown to.
WITH outcomes AS (
    SELECT s.item, count(*) AS shown, count(*) FILTER (WHERE a.state = 'passed') AS passed,
        count(*) FILTER (WHERE a.ratio > p.ratio) AS faster
    FROM items i JOIN shown_items s ON s.item = i.id JOIN attempts a ON a.id = s.attempt
    LEFT JOIN attempts p ON p.id = a.parent
    WHERE i.kind = 'skill' GROUP BY s.item
)
SELECT i.id, i.names, i.category AS rule, i.backend, v.stage, v.value, v.visits,
    coalesce(o.shown, 0) AS shown, coalesce(o.passed, 0) AS passed, coalesce(o.faster, 0) AS faster
FROM items i LEFT JOIN item_values v ON v.item = i.id AND v.family = ''
LEFT JOIN outcomes o ON o.item = i.id
WHERE i.kind = 'skill' ORDER BY i.id
