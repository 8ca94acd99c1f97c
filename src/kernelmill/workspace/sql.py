"""The SQL statements and migrations of the workspace."""

import functools
from pathlib import Path

from kernelmill.storage.sql import Queries

_HERE = Path(__file__).parent

query = Queries(_HERE / "queries")


@functools.cache
def migrations() -> tuple[str, ...]:
    """All migrations in order; `user_version` of a database counts those it has had."""
    return tuple(
        path.read_text(encoding="utf-8") for path in sorted((_HERE / "migrations").glob("*.sql"))
    )
