UPDATE items SET change_from = :change_from, change_to = :change_to, evidence = :evidence
WHERE id = :item
