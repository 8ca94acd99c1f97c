UPDATE campaign_tasks SET set_aside = :reason WHERE campaign = :campaign AND task = :task
