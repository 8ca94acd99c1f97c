-- What was predicted of each attempt that was judged, and what came of it. The model is the one that
-- wrote the candidate.
SELECT a.prediction, a.ratio, p.ratio AS parent_ratio,
    coalesce((SELECT c.model FROM calls c
     WHERE c.attempt = a.id AND c.role IN ('generator', 'repairer', 'optimizer')
     ORDER BY c.number DESC LIMIT 1), '') AS model
FROM attempts a LEFT JOIN attempts p ON p.id = a.parent
WHERE a.state IN ('passed', 'refused') AND a.prediction <> ''
    AND (:campaign IS NULL OR a.campaign = :campaign)
ORDER BY a.id
