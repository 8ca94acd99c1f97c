"""Preprocessed source of a candidate: what macros, token pasting and includes become.

The compiler compiles exactly this text, so that rules on it read what is built.
"""

import posixpath
import re
import subprocess
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

_LINE_MARKER = re.compile(r'# (\d+) "((?:\\.|[^"\\])*)"([ 1-4]*)')
_ENTERS = "1"
_MOST_CHARACTERS = 8 << 20
PREPROCESSED_SUFFIX = ".ii"
"""Added to the name of a source: the compiler's sign for preprocessed C++."""


class SourceLine(msgspec.Struct, frozen=True, array_like=True):
    """A preprocessed line, and the place in the candidate that it comes from."""

    file: str
    line: int
    text: str


class Include(msgspec.Struct, frozen=True, array_like=True):
    """A header outside of the build that a file of the candidate includes, as it was found."""

    file: str
    line: int
    header: str


class PreprocessedSource(msgspec.Struct, frozen=True):
    """Those lines that come from the candidate's own files, in the order of the compiler."""

    lines: tuple[SourceLine, ...] = ()
    includes: tuple[Include, ...] = ()


class TooLong(Exception):
    """Macros expand to more text than any kernel has."""


class _Place(NamedTuple):
    file: str
    line: int


class OwnSource:
    """Collects a candidate's own lines from the output of a preprocessor."""

    def __init__(self, own_files: Collection[str]) -> None:
        self._own_files = own_files
        self._lines: list[SourceLine] = []
        self._includes: list[Include] = []
        self._room = _MOST_CHARACTERS

    def read(self, output: Iterable[str]) -> None:
        """Take over the own lines of one translation unit. Raises TooLong."""
        place = _Place("", 0)
        for text in output:
            if marker := _LINE_MARKER.match(text):
                place = self._enter(place, marker)
                continue
            if place.file in self._own_files and text.strip():
                self._room -= len(text)
                if self._room < 0:
                    raise TooLong(f"macros expand to more than {_MOST_CHARACTERS >> 20} MiB")
                self._lines.append(SourceLine(place.file, place.line, text.rstrip("\n")))
            place = _Place(place.file, place.line + 1)

    def result(self) -> PreprocessedSource:
        return PreprocessedSource(tuple(self._lines), tuple(self._includes))

    def _enter(self, place: _Place, marker: re.Match[str]) -> _Place:
        name = marker[2].replace("\\\\", "\\").replace('\\"', '"')
        file = posixpath.normpath(name) if not name.startswith("<") else name
        included = _ENTERS in marker[3].split() and place.file in self._own_files
        if included and file.startswith(("/", "..")):
            # The marker stands where the directive stood, whose line is already counted.
            self._includes.append(Include(place.file, max(1, place.line), file))
        return _Place(file, int(marker[1]))


class Preprocessed(NamedTuple):
    """The end of a run of the preprocessor."""

    status: int
    output: str
    """What it complained about."""
    source: PreprocessedSource


def preprocess(
    command: Sequence[str], sources: Sequence[str], own_files: Collection[str], folder: Path
) -> Preprocessed:
    """Preprocess sources beside themselves, up to the first that fails. Inside sandboxes only.

    `command` is the compiler with all options that decide what it compiles.
    """
    own = OwnSource(own_files)
    for source in sources:
        result = f"{source}{PREPROCESSED_SUFFIX}"
        done = subprocess.run(
            [*command, "-E", source, "-o", result],
            cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        complaint = done.stderr.decode(errors="replace")
        if done.returncode != 0:
            return Preprocessed(done.returncode, complaint, own.result())
        try:
            with open(folder / result, errors="replace", newline="\n") as lines:
                own.read(lines)
        except TooLong as error:
            complaint = f"{posixpath.normpath(source)}:1:1: error: {error}"
            return Preprocessed(1, complaint, own.result())
    return Preprocessed(0, "", own.result())
