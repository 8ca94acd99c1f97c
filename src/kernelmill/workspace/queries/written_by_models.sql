-- Attempts that models wrote, with the best ratio before each; the writer is the model that answered
-- last. An attempt with a template is worth its best combination. Tokens are those of all calls to
-- the writer, those whose answers came from the cache included.
WITH judged AS (
    SELECT id, ratio,
        max(ratio) OVER (
            PARTITION BY task ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS best_before
    FROM attempts WHERE campaign = :campaign AND state != 'claimed'
),
written AS (
    SELECT id,
        (SELECT c.model FROM calls c
         WHERE c.attempt = j.id AND c.role IN ('generator', 'repairer', 'optimizer')
         ORDER BY c.number DESC LIMIT 1) AS model,
        coalesce(
            (SELECT max(a.ratio) FROM sweep_trials t JOIN attempts a ON a.id = t.attempt
             WHERE t.sweep = j.id),
            ratio
        ) AS ratio,
        best_before
    FROM judged j
)
SELECT w.model, w.ratio, w.best_before, sum(c.tokens_in) AS tokens_in,
    sum(c.tokens_out) AS tokens_out
FROM written w JOIN calls c ON c.attempt = w.id AND c.model = w.model
GROUP BY w.id
ORDER BY w.id
