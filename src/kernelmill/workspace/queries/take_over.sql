UPDATE attempts SET owner = :owner, planned_at = :at WHERE id = :attempt
