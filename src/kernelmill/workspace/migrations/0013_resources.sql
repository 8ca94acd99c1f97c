-- What a call of the kernel takes besides time; NULL where it was not measured.
ALTER TABLE attempts ADD COLUMN peak_bytes INTEGER;
ALTER TABLE attempts ADD COLUMN energy_joules REAL;

-- Few attempts of a large campaign may come with a prediction.
CREATE INDEX attempts_predicted ON attempts (campaign) WHERE prediction <> '';
