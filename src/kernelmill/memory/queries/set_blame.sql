UPDATE items SET decisions = :decisions WHERE id = :item
