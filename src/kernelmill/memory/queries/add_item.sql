-- A known item keeps its id and its values; it takes the latest evidence and the mean outcome.
INSERT INTO items (kind, fingerprint, text, decisions, outcome, category, names, task, family,
                   backend, generator, imported_from, campaign, attempt, source, subject,
                   embedding, made_at, seen_at)
VALUES (:kind, :fingerprint, :text, :decisions, :outcome, :category, :names, :task, :family,
        :backend, :generator, :imported_from, :campaign, :attempt, :source, :subject,
        :embedding, :now, :now)
ON CONFLICT (fingerprint) DO UPDATE SET
    text = excluded.text,
    decisions = excluded.decisions,
    outcome = (outcome * count + excluded.outcome) / (count + 1),
    count = count + 1,
    campaign = excluded.campaign,
    attempt = excluded.attempt,
    source = excluded.source,
    seen_at = excluded.seen_at
RETURNING id
