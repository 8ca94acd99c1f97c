SELECT ratio FROM attempts WHERE id = :attempt
