-- What the models of a campaign brought: the writer of an attempt is who answered last for it.
-- A draft that passes is worth 1; a refinement tanh(ln r), for the gain r over the best before it.
WITH judged AS (
    SELECT id, state, ratio,
        max(ratio) OVER (
            PARTITION BY task ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS best
    FROM attempts WHERE campaign = :campaign AND state != 'planned'
),
rewarded AS (
    SELECT
        (SELECT c.model FROM calls c
         WHERE c.attempt = j.id AND c.role IN ('generator', 'repairer', 'optimizer')
         ORDER BY c.number DESC LIMIT 1) AS model,
        CASE
            WHEN ratio IS NULL THEN -1.0
            WHEN best IS NULL THEN 1.0
            ELSE (ratio * ratio - best * best) / (ratio * ratio + best * best)
        END AS reward
    FROM judged j
)
SELECT model, count(*) AS attempts, sum(reward) AS reward
FROM rewarded WHERE model IS NOT NULL
GROUP BY model ORDER BY model
