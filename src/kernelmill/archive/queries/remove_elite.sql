DELETE FROM elites
WHERE campaign = :campaign AND task = :task AND island = :island AND cell = :cell
