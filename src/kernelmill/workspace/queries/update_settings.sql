UPDATE campaigns SET settings = :settings WHERE id = :campaign
