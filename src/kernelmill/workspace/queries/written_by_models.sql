-- Attempts that models wrote, with the best ratio before each; the writer is the model that answered
-- last.
WITH judged AS (
    SELECT id, ratio,
        max(ratio) OVER (
            PARTITION BY task ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS best_before
    FROM attempts WHERE campaign = :campaign AND state != 'claimed'
),
written AS (
    SELECT
        (SELECT c.model FROM calls c
         WHERE c.attempt = j.id AND c.role IN ('generator', 'repairer', 'optimizer')
         ORDER BY c.number DESC LIMIT 1) AS model,
        ratio, best_before
    FROM judged j
)
SELECT model, ratio, best_before FROM written WHERE model IS NOT NULL
