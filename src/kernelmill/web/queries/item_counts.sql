SELECT kind, count(*) AS count FROM items GROUP BY kind ORDER BY kind
