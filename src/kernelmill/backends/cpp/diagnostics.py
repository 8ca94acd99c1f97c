"""Cutting a compiler's output to what a generator can use."""

import re

_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: ")
_UNDEFINED = re.compile(r"undefined (?:reference|symbol)")
_MOST_ERRORS = 3
_LINES_EACH = 4
_WIDTH = 240


def first_errors(output: str) -> tuple[str, ...]:
    """The first errors, each with its source line and caret."""
    lines = output.splitlines()
    found: list[str] = []
    errors = 0
    for index, line in enumerate(lines):
        if _ERROR.match(line):
            errors += 1
            found += [text[:_WIDTH] for text in _with_caret(lines, index)]
        elif _UNDEFINED.search(line):
            errors += 1
            found.append(line.strip()[:_WIDTH])
        if errors == _MOST_ERRORS:
            break
    return tuple(found or [line[:_WIDTH] for line in lines[-_LINES_EACH:]])


def _with_caret(lines: list[str], index: int) -> list[str]:
    """The error's line and the indented lines of source that the compiler draws below it."""
    drawn = [lines[index]]
    for line in lines[index + 1 : index + _LINES_EACH]:
        if not re.match(r"^\s*\d*\s*\|", line):
            break
        drawn.append(line)
    return drawn
