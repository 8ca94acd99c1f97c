SELECT body FROM verdicts WHERE attempt = :attempt AND kind = :kind
