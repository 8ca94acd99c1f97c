-- What an intent brought on a backend, over all campaigns, by family of tasks.
SELECT family, count(*) AS tries, sum(gain IS NULL) AS refused, coalesce(sum(gain), 0.0) AS gained
FROM intent_tries WHERE backend = :backend AND intent = :intent
GROUP BY family
