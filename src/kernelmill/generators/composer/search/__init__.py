"""Which decisions come next: what was tried, what it taught, and the draw from it."""
