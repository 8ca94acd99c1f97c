UPDATE campaign_tasks SET champion = :attempt WHERE campaign = :campaign AND task = :task
