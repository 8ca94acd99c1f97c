SELECT choices FROM sweep_trials WHERE attempt = :attempt
