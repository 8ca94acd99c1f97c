INSERT INTO events (campaign, at, kind, text) VALUES (:campaign, :at, :kind, :text)
