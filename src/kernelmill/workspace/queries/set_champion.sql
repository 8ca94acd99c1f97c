-- Another process may have stored a better one meanwhile.
UPDATE campaign_tasks SET champion = :attempt
WHERE campaign = :campaign AND task = :task
  AND coalesce((SELECT speed FROM measured_speeds WHERE attempt = champion),
               (SELECT ratio FROM attempts WHERE id = champion), 0.0)
      < (SELECT ratio FROM attempts WHERE id = :attempt)
