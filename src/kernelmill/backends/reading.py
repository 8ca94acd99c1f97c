"""Candidates read from a folder or a file."""

import os
from collections.abc import Iterator
from pathlib import Path

from kernelmill.backends.shipping import is_loader
from kernelmill.records.candidate import (
    MODEL_FILE,
    MOST_BYTES,
    SOURCE_SUFFIXES,
    Candidate,
    Origin,
)
from kernelmill.records.errors import CandidateError

_COMPANION_SUFFIXES = (".json", ".md", ".pyc", ".toml", ".txt")
"""Files that may lie beside a kernel and are no part of it: its verdict, notes, Python's cache."""


def read_candidate(path: Path, origin: Origin = Origin.FILE, entry: str = MODEL_FILE) -> Candidate:
    """A folder with everything that belongs to a candidate, or one file, which becomes its entry.

    Hidden files and folders are ignored. Raises CandidateError for what cannot be read, for links,
    and for any other file that is not source: nothing is left out silently.
    """
    if path.is_dir():
        files = {str(file.relative_to(path)): _text(file) for file in _sources(path)}
        if not files:
            raise CandidateError(f"{path} is not a candidate: it holds no source file")
        return Candidate(files, origin, path.name)
    if not path.is_file():
        raise CandidateError(f"there is no candidate at {path}")
    _demand_source(path)
    return Candidate({entry: _text(path.resolve())}, origin, path.stem)


def is_candidate(folder: Path, entry: str = MODEL_FILE) -> bool:
    return (folder / entry).is_file()


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        if path.is_symlink():
            raise CandidateError(f"{path} is a link: a candidate is made of plain files")
        if path.is_dir() or path.suffix in _COMPANION_SUFFIXES:
            continue
        _demand_source(path)
        if not is_loader(path):
            yield path


def _demand_source(path: Path) -> None:
    if path.suffix not in SOURCE_SUFFIXES:
        raise CandidateError(
            f"{path} is no source file of a candidate: those end in {', '.join(SOURCE_SUFFIXES)}"
        )
    if not path.is_file():
        raise CandidateError(f"{path} is not a plain file")


def _open_plainly(path: str, flags: int) -> int:
    """Open what was found to be a plain file, and nothing that has taken its place since."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CandidateError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
        with open(path, encoding="utf-8", opener=_open_plainly) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise CandidateError(f"{path} is not a text file") from error
    except OSError as error:
        raise CandidateError(f"cannot read {path}: {error.strerror}") from error
