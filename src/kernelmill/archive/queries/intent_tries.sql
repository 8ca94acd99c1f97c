SELECT attempt, intent, base, predicted, difficulty, gain FROM intent_tries
WHERE campaign = :campaign AND task = :task
ORDER BY attempt
