UPDATE attempts SET owner = :owner, claimed_at = :at WHERE id = :attempt
