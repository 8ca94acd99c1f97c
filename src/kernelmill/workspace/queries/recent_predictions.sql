-- The latest predictions of a campaign that were judged, and what came of each.
SELECT a.prediction, a.ratio, p.ratio AS parent_ratio
FROM attempts a LEFT JOIN attempts p ON p.id = a.parent
WHERE a.campaign = :campaign AND a.prediction <> '' AND a.state IN ('passed', 'refused')
ORDER BY a.id DESC
LIMIT :most
