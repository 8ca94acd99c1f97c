"""SQL statements loaded from files, by name."""

from pathlib import Path


class Queries:
    """Statements in one folder; `queries(name)` is the text of `name.sql`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = (self._folder / f"{name}.sql").read_text(encoding="utf-8")
        return self._texts[name]
