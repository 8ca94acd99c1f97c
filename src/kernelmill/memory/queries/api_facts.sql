SELECT * FROM items_without_embeddings i
WHERE kind = 'api' AND backend = :backend
    AND (category = :category
         OR EXISTS (SELECT 1 FROM json_each(i.names) n
                    JOIN json_each(:names) w ON w.value = n.value))
ORDER BY id
