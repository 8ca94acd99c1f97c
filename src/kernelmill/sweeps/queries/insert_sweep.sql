INSERT INTO sweeps (attempt, campaign, task, island, is_template, space)
VALUES (:attempt, :campaign, :task, :island, :is_template, :space)
