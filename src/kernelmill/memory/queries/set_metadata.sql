INSERT INTO memory_facts (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE value <> excluded.value
