SELECT (SELECT count(*) FROM call_messages) AS messages, count(*) AS texts,
    coalesce(sum(characters), 0) AS characters, coalesce(sum(length(body)), 0) AS stored_bytes
FROM texts
