INSERT INTO item_values (item, stage, family, value, visits)
VALUES (:item, :role, :family, :value, 0)
ON CONFLICT DO NOTHING
