"""The statements, by the name of their file."""

import functools
from pathlib import Path

_HERE = Path(__file__).parent


class Queries:
    """The statements in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = (self._folder / f"{name}.sql").read_text()
        return self._texts[name]


query = Queries(_HERE / "queries")


@functools.cache
def migrations() -> tuple[str, ...]:
    """In order; the number of a workspace says how many of them it has seen."""
    return tuple(path.read_text() for path in sorted((_HERE / "migrations").glob("*.sql")))
