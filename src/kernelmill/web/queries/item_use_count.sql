SELECT count(*) AS count FROM shown_items WHERE item = :item
