UPDATE items SET embedding = :vector WHERE id = :item
