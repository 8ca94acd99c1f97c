-- A known item keeps its id and its values; it takes the latest evidence and the mean outcome. A
-- failure that occurs again keeps the change that mended it.
INSERT INTO items (kind, fingerprint, text, decisions, outcome, category, names, task, family,
                   backend, generator, model, imported_from, campaign, attempt, source, change_from,
                   change_to, evidence, subject, embedding, made_at, seen_at)
VALUES (:kind, :fingerprint, :text, :decisions, :outcome, :category, :names, :task, :family,
        :backend, :generator, :model, :imported_from, :campaign, :attempt, :source, :change_from,
        :change_to, :evidence, :subject, :embedding, :now, :now)
ON CONFLICT (fingerprint) DO UPDATE SET
    text = excluded.text,
    decisions = excluded.decisions,
    outcome = (outcome * count + excluded.outcome) / (count + 1),
    category = excluded.category,
    count = count + 1,
    campaign = excluded.campaign,
    attempt = excluded.attempt,
    source = excluded.source,
    change_from = coalesce(excluded.change_from, change_from),
    change_to = coalesce(excluded.change_to, change_to),
    evidence = coalesce(excluded.evidence, evidence),
    seen_at = excluded.seen_at
RETURNING id
