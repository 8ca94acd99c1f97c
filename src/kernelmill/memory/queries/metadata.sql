SELECT value FROM memory_facts WHERE name = :name
