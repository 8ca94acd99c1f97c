SELECT id, kind, fingerprint, text, decisions, outcome, category, names, task, family, backend, generator,
    imported_from, campaign, attempt, source, subject, count, made_at, seen_at
FROM items WHERE fingerprint = :fingerprint
