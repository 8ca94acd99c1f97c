DELETE FROM call_messages WHERE attempt IN (
    SELECT a.id FROM attempts a
    WHERE (:campaign IS NULL OR a.campaign = :campaign)
        AND (NOT :keep_champions
             OR a.id NOT IN (SELECT champion FROM campaign_tasks WHERE champion IS NOT NULL))
)
