-- Failures of one source on one task that occurred once: the source has passed since.
UPDATE items SET category = 'acquitted'
WHERE kind = 'experience' AND backend = :backend AND category = 'failure' AND count = 1
    AND task = :task AND source = :source
