INSERT INTO elites (campaign, task, island, cell, attempt, entered, vector)
VALUES (:campaign, :task, :island, :cell, :attempt, :number, :vector)
ON CONFLICT DO UPDATE SET
    attempt = excluded.attempt, entered = excluded.entered, vector = excluded.vector
