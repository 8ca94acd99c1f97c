-- The items that have vectors to search, up to one of them. The plus makes SQLite count in the index
-- by kind, which is much smaller than the table.
SELECT (SELECT count(*) FROM items WHERE kind <> 'api' AND +id <= :last) AS count,
    (SELECT fingerprint FROM items WHERE id = :last) AS fingerprint
