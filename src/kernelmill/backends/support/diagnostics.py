"""The first errors in the output of gcc, clang or nvcc, for a generator to act on."""

import re

_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: ")
_NVCC_ERROR = re.compile(r"^[^\s(][^(\n]*\(\d+\): (?:catastrophic )?error\b|^ptxas (?:error|fatal)")
_UNDEFINED = re.compile(r"undefined (?:reference|symbol)")
_FATAL = re.compile(r"\b(?:fatal|catastrophic) error\b|^ptxas fatal", re.MULTILINE)
"""An error that stops the compiler at once: a missing header, a full disk, no memory left."""
_MAX_ERRORS = 3
_LINES_PER_ERROR = 4
_WIDTH = 240


def first_errors(output: str) -> tuple[str, ...]:
    """The first errors, each with its line of source; the last lines of output without errors."""
    lines = output.splitlines()
    found = _nvcc_errors(lines) or _errors(lines) or lines[-_LINES_PER_ERROR:]
    return tuple(line[:_WIDTH] for line in found)


def blames_source(output: str) -> bool:
    """Whether the errors are certainly in the sources, and not perhaps in the machine."""
    lines = output.splitlines()
    return not _FATAL.search(output) and bool(_nvcc_errors(lines) or _errors(lines))


def _errors(lines: list[str]) -> list[str]:
    found: list[str] = []
    errors = 0
    for index, line in enumerate(lines):
        if _ERROR.match(line):
            errors += 1
            found += _with_caret(lines, index)
        elif _UNDEFINED.search(line):
            errors += 1
            found.append(line.strip())
        if errors == _MAX_ERRORS:
            break
    return found


def _nvcc_errors(lines: list[str]) -> list[str]:
    starts = [index for index, line in enumerate(lines) if _NVCC_ERROR.match(line)]
    return [
        line
        for start in starts[:_MAX_ERRORS]
        for line in lines[start : start + _LINES_PER_ERROR]
        if line.strip()
    ]


def _with_caret(lines: list[str], index: int) -> list[str]:
    """The error's line and the indented lines of source that the compiler draws below it."""
    drawn = [lines[index]]
    for line in lines[index + 1 : index + _LINES_PER_ERROR]:
        if not re.match(r"^\s*\d*\s*\|", line):
            break
        drawn.append(line)
    return drawn
