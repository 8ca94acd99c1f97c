INSERT INTO intent_tries
    (attempt, campaign, task, backend, family, intent, base, predicted, difficulty, gain)
VALUES (:attempt, :campaign, :task, :backend, :family, :intent, :base, :predicted, :difficulty, :gain)
