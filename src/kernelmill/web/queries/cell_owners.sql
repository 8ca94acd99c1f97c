SELECT island, cell, entered FROM elites WHERE campaign = :campaign AND task = :task
