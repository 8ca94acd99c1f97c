-- What a call of the kernel takes besides time; NULL where it was not measured.
ALTER TABLE attempts ADD COLUMN peak_bytes INTEGER;
ALTER TABLE attempts ADD COLUMN energy_joules REAL;

CREATE INDEX attempts_by_memory ON attempts (campaign, task, peak_bytes) WHERE peak_bytes IS NOT NULL;
