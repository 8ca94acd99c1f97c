SELECT id, embedding FROM items WHERE id > :above AND kind <> 'api' ORDER BY id LIMIT :most
