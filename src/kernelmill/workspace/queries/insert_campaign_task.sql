INSERT INTO campaign_tasks (campaign, position, name, task, set_aside)
VALUES (
    :campaign, :position, :name,
    (SELECT id FROM tasks WHERE name = :name AND digest = :digest),
    :set_aside
)
