INSERT INTO offspring (attempt, campaign, task, number, strategy, operator, island, parent, partner,
    parent_cell, target, cell, outcome, speed, gain, progress, vector)
VALUES (:attempt, :campaign, :task, :number, :strategy, :operator, :island, :parent, :partner,
    (SELECT cell FROM offspring WHERE attempt = :parent), :target, :cell, :outcome, :speed, :gain,
    :progress, :vector)
