"""The headers that generated code includes."""

from collections.abc import Iterable, Sequence
from importlib.resources.abc import Traversable

_OWN = '#include "'


def headers(wanted: Iterable[str], folders: Sequence[Traversable]) -> dict[str, str]:
    """Those wanted and those that they include, each behind what it needs.

    A header is taken from the first folder that has it.
    """
    found: dict[str, str] = {}

    def take(name: str) -> None:
        if name in found:
            return
        text = next(path.read_text() for path in (f / name for f in folders) if path.is_file())
        for line in text.splitlines():
            if line.startswith(_OWN):
                take(line.removeprefix(_OWN).removesuffix('"'))
        found[name] = text

    for name in wanted:
        take(name)
    return found


def as_one(texts: Iterable[str]) -> str:
    """Headers in the order they need each other, as one piece of source."""
    return "\n".join(_without_includes(text) for text in texts)


def _without_includes(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith((_OWN, "#pragma once\n")))
