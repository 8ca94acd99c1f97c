INSERT INTO attempts (campaign, task, number, state, owner, claimed_at)
SELECT :campaign, :task, last + 1, 'claimed', :owner, :at
FROM (SELECT coalesce(max(number), 0) AS last FROM attempts
      WHERE campaign = :campaign AND task = :task)
WHERE last < :budget
RETURNING id, number
