"""Unified diffs between the files of two candidates."""

import difflib
from collections.abc import Iterator, Mapping

_CONTEXT_LINES = 2


def source_diff(before: Mapping[str, str], after: Mapping[str, str], most_lines: int = 400) -> str:
    """The change from one candidate to another, file by file; cut where it is long."""
    lines = list(_lines(before, after))
    if len(lines) > most_lines:
        lines = [*lines[:most_lines], f"... ({len(lines) - most_lines} more lines)"]
    return "\n".join(lines)


def changed_lines(before: Mapping[str, str], after: Mapping[str, str]) -> int:
    """Number of lines that a change adds or removes."""
    return sum(line.startswith(("+", "-")) for line in _lines(before, after)) - 2 * sum(
        before.get(name) != after.get(name) for name in before.keys() | after.keys()
    )


def added_lines(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Lines that a change adds, without indentation; empty ones are left out."""
    added = (line[1:].strip() for line in _lines(before, after) if line.startswith("+"))
    return [line for line in added if line and not line.startswith("++ ")]


def _lines(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            yield from difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, name, lineterm="", n=_CONTEXT_LINES
            )
