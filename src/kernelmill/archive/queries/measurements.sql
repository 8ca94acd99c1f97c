SELECT ratio, counted FROM measurements WHERE attempt = :attempt ORDER BY position
