-- Tasks of a campaign that have an archive, with the number of cells that have an owner.
SELECT c.position, count(e.cell) AS cells
FROM campaign_tasks c JOIN elites e ON e.campaign = c.campaign AND e.task = c.task
WHERE c.campaign = :campaign GROUP BY c.position
