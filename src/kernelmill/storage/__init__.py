"""SQLite helpers: statements in files, packed values."""
