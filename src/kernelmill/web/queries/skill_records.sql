SELECT i.id, i.names, i.backend, i.count, v.stage, v.value, v.visits
FROM items i LEFT JOIN item_values v ON v.item = i.id AND v.family = ''
WHERE i.kind = 'skill' ORDER BY i.id
