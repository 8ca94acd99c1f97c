DELETE FROM attempts WHERE id = :attempt AND state = 'claimed' AND owner = :owner
