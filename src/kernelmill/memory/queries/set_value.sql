INSERT INTO item_values (item, stage, family, value, visits)
VALUES (:item, :role, :family, :value, :visits)
ON CONFLICT (item, stage, family) DO UPDATE SET value = excluded.value, visits = excluded.visits
