INSERT INTO call_messages (attempt, call, position, speaker, text)
SELECT :attempt, :call, :position, :speaker, id FROM texts WHERE digest = :digest
