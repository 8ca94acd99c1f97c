"""Search-and-replace edits of a file: each must match exactly once."""

import difflib
import re
from typing import NamedTuple

from kernelmill.generators.model.call_problems import CallProblem, UnusableAnswer
from kernelmill.generators.model.fenced_blocks import split_lines

_SEARCH = re.compile(r"^<{5,9} ?SEARCH\s*$")
_MIDDLE = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^>{5,9} ?REPLACE\s*$")
_SHAPE = (
    "an edit is a line `<<<<<<< SEARCH`, the old lines, `=======`, the new lines, `>>>>>>> REPLACE`"
)
_EXACT = "copy the lines to search for exactly as the file was shown, spaces included"
_MOST_SHOWN = 12
"""Lines of the file that are quoted where a search does not match."""


class Edit(NamedTuple):
    search: str
    replace: str


def is_edit(text: str) -> bool:
    """Whether a block holds edits rather than a file."""
    return any(_SEARCH.match(line) for line in split_lines(text))


def parse_edits(name: str, text: str) -> list[Edit]:
    """The edits in a block. Raises UnusableAnswer."""
    edits: list[Edit] = []
    parts: list[list[str]] | None = None
    for line in split_lines(text):
        if _SEARCH.match(line):
            if parts is not None:
                raise _bad_edit(name, "a SEARCH begins inside another edit")
            parts = [[]]
        elif _MIDDLE.match(line) and parts is not None and len(parts) == 1:
            parts.append([])
        elif _REPLACE.match(line):
            if parts is None or len(parts) != 2:
                raise _bad_edit(name, "a REPLACE has no SEARCH or no ======= before it")
            edits.append(Edit(_joined(parts[0]), _joined(parts[1])))
            parts = None
        elif parts is not None:
            parts[-1].append(line)
        elif line.strip():
            raise _bad_edit(name, f"text between edits: {line.strip()[:80]!r}")
    if parts is not None:
        raise UnusableAnswer(
            CallProblem.CUT_SHORT, f"the last edit of {name} has no REPLACE", _SHAPE
        )
    return edits


def apply_edits(name: str, text: str, edits: list[Edit]) -> str:
    """The text after all edits, in order. Raises UnusableAnswer where one does not match once."""
    for number, edit in enumerate(edits, 1):
        place = f"edit {number} of {name}"
        if not edit.search.strip():
            raise _bad_edit(name, f"{place} searches for nothing: give the whole file instead")
        count = _count(text, edit.search)
        if count == 0:
            raise UnusableAnswer(
                CallProblem.NO_MATCH, f"{place}: {_nearest(text, edit.search)}", _EXACT
            )
        if count > 1:
            found = f"{place}: the lines it searches for occur {count} times in the file"
            raise UnusableAnswer(
                CallProblem.SEVERAL_MATCHES, found, "search for more of the lines around it"
            )
        text = _replaced(text, edit)
    return text


def _bad_edit(name: str, found: str) -> UnusableAnswer:
    return UnusableAnswer(CallProblem.BAD_EDIT, f"{name}: {found}", _SHAPE)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _count(text: str, search: str) -> int:
    """Matches at line starts only, overlapping ones included."""
    text = _with_newline(text)
    return sum(text.startswith(search, start) for start in _line_starts(text))


def _replaced(text: str, edit: Edit) -> str:
    text = _with_newline(text)
    start = next(s for s in _line_starts(text) if text.startswith(edit.search, s))
    return text[:start] + edit.replace + text[start + len(edit.search) :]


def _with_newline(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _nearest(text: str, search: str) -> str:
    """The lines of the file that are closest to those that were searched for."""
    wanted, lines = split_lines(search)[:_MOST_SHOWN], split_lines(text)
    matcher = difflib.SequenceMatcher(None, lines, wanted, autojunk=False)
    match = matcher.find_longest_match()
    if not match.size:
        return "none of the lines it searches for is in the file"
    start = max(0, match.a - match.b)
    shown = lines[start : start + len(wanted)]
    return "the file has no such lines; the closest are:\n" + "\n".join(shown)
