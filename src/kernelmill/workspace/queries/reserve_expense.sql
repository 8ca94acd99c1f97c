-- Adds nothing where the sum would exceed the limit.
INSERT INTO expenses (campaign, most_usd)
SELECT :campaign, :most_usd
WHERE :limit_usd IS NULL OR coalesce(:most_usd, 0.0) + (
    SELECT coalesce(sum(coalesce(cost_usd, most_usd)), 0.0) FROM expenses
    WHERE campaign = :campaign
) <= :limit_usd
RETURNING id
