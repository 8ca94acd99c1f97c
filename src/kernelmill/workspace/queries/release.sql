DELETE FROM attempts WHERE id = :attempt AND state = 'planned' AND owner = :owner
