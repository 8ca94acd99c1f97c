"""Edits of a file: search and replace, exactly and once, or not at all."""

import difflib
import re
from typing import NamedTuple

from kernelmill.generators.model.blocks import lines_of
from kernelmill.generators.model.problems import Malformed, Problem

_SEARCH = re.compile(r"^<{5,9} ?SEARCH\s*$")
_MIDDLE = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9} ?REPLACE\s*$")
_SHAPE = (
    "an edit is a line `<<<<<<< SEARCH`, the old lines, `=======`, the new lines, `>>>>>>> REPLACE`"
)
_EXACT = "copy the lines to search for from the file as it was shown, every space of them"
_MOST_SHOWN = 12


class Edit(NamedTuple):
    search: str
    replace: str


def is_edit(text: str) -> bool:
    """Whether a block holds edits rather than a file."""
    return any(_SEARCH.match(line) for line in lines_of(text))


def parse_edits(name: str, text: str) -> list[Edit]:
    """Raises Malformed."""
    edits: list[Edit] = []
    parts: list[list[str]] | None = None
    for line in lines_of(text):
        if _SEARCH.match(line):
            if parts is not None:
                raise _bad(name, "a search begins inside of another")
            parts = [[]]
        elif _MIDDLE.match(line) and parts is not None and len(parts) == 1:
            parts.append([])
        elif _REPLACE.match(line):
            if parts is None or len(parts) != 2:
                raise _bad(name, "a replacement ends that never began")
            edits.append(Edit(_lines(parts[0]), _lines(parts[1])))
            parts = None
        elif parts is not None:
            parts[-1].append(line)
        elif line.strip():
            raise _bad(name, f"this stands between edits: {line.strip()[:80]!r}")
    if parts is not None:
        raise Malformed(Problem.CUT_SHORT, f"the last edit of {name} has no end", _SHAPE)
    return edits


def apply_edits(name: str, text: str, edits: list[Edit]) -> str:
    """One after the other. Raises Malformed where one does not match exactly once."""
    for number, edit in enumerate(edits, 1):
        place = f"edit {number} of {name}"
        if not edit.search.strip():
            raise _bad(name, f"{place} searches for nothing: give the whole file instead")
        count = _count(text, edit.search)
        if count == 0:
            raise Malformed(Problem.NO_MATCH, f"{place}: {_nearest(text, edit.search)}", _EXACT)
        if count > 1:
            found = f"{place}: its search stands {count} times in the file"
            raise Malformed(Problem.SEVERAL_MATCHES, found, "search for more lines around it")
        text = _replaced(text, edit)
    return text


def _bad(name: str, found: str) -> Malformed:
    return Malformed(Problem.BAD_EDIT, f"{name}: {found}", _SHAPE)


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _count(text: str, search: str) -> int:
    """At beginnings of lines only, overlapping ones too."""
    text = _ended(text)
    return sum(text.startswith(search, start) for start in _line_starts(text))


def _replaced(text: str, edit: Edit) -> str:
    text = _ended(text)
    start = next(s for s in _line_starts(text) if text.startswith(edit.search, s))
    return text[:start] + edit.replace + text[start + len(edit.search) :]


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _nearest(text: str, search: str) -> str:
    """What in the file comes closest to what was searched for."""
    wanted, lines = lines_of(search)[:_MOST_SHOWN], lines_of(text)
    matcher = difflib.SequenceMatcher(None, lines, wanted, autojunk=False)
    match = matcher.find_longest_match()
    if not match.size:
        return "none of the lines it searches for stands in the file"
    start = max(0, match.a - match.b)
    shown = lines[start : start + len(wanted)]
    return "the file has no such lines; the closest are:\n" + "\n".join(shown)
