SELECT body FROM plans WHERE attempt = :attempt
