"""Cutting nvcc's output to what a generator can use."""

import re

from kernelmill.backends.cpp.diagnostics import first_errors as errors_of_gcc

_ERROR = re.compile(r"^[^\s(][^(\n]*\(\d+\): (?:catastrophic )?error\b|^ptxas (?:error|fatal)")
_MOST_ERRORS = 3
_LINES_EACH = 4
_WIDTH = 240
_DEVICE_STATE = re.compile(r"ptxas info\s*: (?!0 bytes)(\d+) bytes gmem(?!, \d+ bytes cmem)")


def first_errors(output: str) -> tuple[str, ...]:
    """The first errors with the lines of source below them."""
    lines = output.splitlines()
    starts = [index for index, line in enumerate(lines) if _ERROR.match(line)]
    if not starts:
        return errors_of_gcc(output)
    return tuple(
        line[:_WIDTH]
        for start in starts[:_MOST_ERRORS]
        for line in lines[start : start + _LINES_EACH]
        if line.strip()
    )


def device_state(output: str) -> str:
    """What the assembler says of variables that live on the device between calls; empty if none."""
    found = _DEVICE_STATE.search(output)
    return f"it keeps {found[1]} bytes on the device between calls" if found else ""
