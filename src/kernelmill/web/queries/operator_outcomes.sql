-- What each way of making a kernel brought on a task.
SELECT strategy, operator, count(*) AS tries,
    count(*) FILTER (WHERE outcome = 'best') AS best,
    count(*) FILTER (WHERE outcome = 'elite') AS elite,
    count(*) FILTER (WHERE outcome = 'beaten') AS beaten,
    count(*) FILTER (WHERE outcome = 'known') AS known,
    count(*) FILTER (WHERE outcome = 'failed') AS failed,
    avg(gain) AS gain
FROM offspring WHERE campaign = :campaign AND task = :task
GROUP BY strategy, operator ORDER BY tries DESC, strategy, operator
