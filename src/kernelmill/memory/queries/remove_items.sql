DELETE FROM items WHERE id IN (SELECT value FROM json_each(:ids))
