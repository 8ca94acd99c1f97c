"""The dashboard: campaigns, tasks, lineage and memory in a browser, live."""
