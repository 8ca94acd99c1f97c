SELECT id, kind, substr(text, 1, 300) AS text, task, backend, family, category, count, outcome
FROM items
WHERE (:kind = '' OR kind = :kind)
    AND (:search = '' OR instr(lower(text), lower(:search)) > 0 OR instr(task, :search) > 0)
ORDER BY id DESC LIMIT :most OFFSET :skip
