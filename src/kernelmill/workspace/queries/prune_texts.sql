DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM call_messages m WHERE m.text = texts.id)
