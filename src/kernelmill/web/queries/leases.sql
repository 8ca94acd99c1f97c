SELECT a.id, a.campaign, a.number, a.claimed_at, a.owner, t.name AS task
FROM attempts a JOIN tasks t ON t.id = a.task WHERE a.state = 'claimed' ORDER BY a.id
