SELECT count(*) AS count FROM campaign_tasks
WHERE campaign = :campaign AND (:search = '' OR instr(lower(name), lower(:search)) > 0)
