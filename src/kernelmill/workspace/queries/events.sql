SELECT at, kind, text FROM events WHERE campaign = :campaign ORDER BY id
