SELECT body FROM answers WHERE key = :key
