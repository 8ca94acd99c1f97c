"""The statements, by the name of their file."""

import functools
from pathlib import Path

_HERE = Path(__file__).parent


@functools.cache
def query(name: str) -> str:
    return (_HERE / "queries" / f"{name}.sql").read_text()


@functools.cache
def migrations() -> tuple[str, ...]:
    """In order; the number of a workspace says how many of them it has seen."""
    return tuple(path.read_text() for path in sorted((_HERE / "migrations").glob("*.sql")))
