-- What came to each behaviour cell of a task's archive, by island.
SELECT island, cell, count(*) AS kernels, min(number) AS first, max(number) AS last
FROM offspring WHERE campaign = :campaign AND task = :task AND cell IS NOT NULL
GROUP BY island, cell
