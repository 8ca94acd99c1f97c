-- Whether a source is that of an earlier attempt of the task.
SELECT min(id) AS attempt FROM attempts
WHERE campaign = :campaign AND task = :task AND source = :source AND id < :attempt
