INSERT OR IGNORE INTO shown_items (item, attempt) VALUES (:item, :attempt)
