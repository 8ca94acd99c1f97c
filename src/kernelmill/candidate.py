"""A candidate: the source files of one kernel."""

import enum
import hashlib
import re
from pathlib import Path

import msgspec

from kernelmill.errors import CandidateError

MODEL_FILE = "model.py"
KERNEL_FILE = "kernel.cpp"
ENTRY_FILES = (MODEL_FILE, KERNEL_FILE)
"""One of them a candidate must have: which one is for its backend to say."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_MOST_FILES = 64
_MOST_BYTES = 2 << 20
SUFFIXES = (".py", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cu", ".cuh", ".inc")


class Origin(enum.StrEnum):
    """Who wrote it: decides how much isolation it needs."""

    SHIPPED = "shipped"
    COMPOSER = "composer"
    FILE = "file"
    MODEL = "model"
    AGENT = "agent"

    @property
    def ours(self) -> bool:
        return self in (Origin.SHIPPED, Origin.COMPOSER)


class Candidate(msgspec.Struct, frozen=True):
    files: dict[str, str]
    origin: Origin
    name: str = ""

    def __post_init__(self) -> None:
        if not any(entry in self.files for entry in ENTRY_FILES):
            raise CandidateError(
                f"{self.name or 'the candidate'} has neither {' nor '.join(ENTRY_FILES)}"
            )
        if len(self.files) > _MOST_FILES:
            raise CandidateError(f"{self.name}: more than {_MOST_FILES} files")
        if sum(len(text) for text in self.files.values()) > _MOST_BYTES:
            raise CandidateError(f"{self.name}: more than {_MOST_BYTES >> 20} MiB of source")
        for file, text in self.files.items():
            if not text.isascii() and text.encode(errors="replace").decode() != text:
                raise CandidateError(f"{self.name}: {file} is not valid text")
            if not _PLAIN_NAME.fullmatch(file) or ".." in file:
                raise CandidateError(f"{self.name}: {file!r} is not a path inside the candidate")

    @property
    def digest(self) -> str:
        whole = hashlib.sha256()
        for file in sorted(self.files):
            for part in (file, self.files[file]):
                encoded = part.encode()
                whole.update(len(encoded).to_bytes(8, "little") + encoded)
        return whole.hexdigest()[:16]


def read_candidate(path: Path, origin: Origin = Origin.FILE) -> Candidate:
    """A folder with model.py or kernel.cpp and what belongs to it, or a single such file."""
    if path.is_file():
        entry = MODEL_FILE if path.suffix == ".py" else KERNEL_FILE
        return Candidate({entry: _text(path)}, origin, path.stem)
    if not path.is_dir():
        raise CandidateError(f"there is no candidate at {path}")
    if not is_candidate(path):
        raise CandidateError(
            f"{path} is not a candidate: it has neither {' nor '.join(ENTRY_FILES)}"
        )
    files = {
        str(file.relative_to(path)): _text(file)
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.suffix in SUFFIXES
    }
    return Candidate(files, origin, path.name)


def is_candidate(folder: Path) -> bool:
    return any((folder / entry).is_file() for entry in ENTRY_FILES)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise CandidateError(f"{path} is larger than {_MOST_BYTES >> 20} MiB")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CandidateError(f"{path} is not a text file") from error
    except OSError as error:
        raise CandidateError(f"cannot read {path}: {error.strerror}") from error
