SELECT id, kind, fingerprint, text, decisions, outcome, category, names, task, family, backend, generator,
    imported_from, campaign, attempt, source, subject, count, made_at, seen_at
FROM items
WHERE kind = 'api' AND backend = :backend
    AND (category = :category
         OR EXISTS (SELECT 1 FROM json_each(items.names) n
                    JOIN json_each(:names) w ON w.value = n.value))
ORDER BY id
