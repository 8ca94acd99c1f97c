"""A candidate: the source files of one kernel."""

import enum
import hashlib
import re

import msgspec

from kernelmill.records.errors import CandidateError
from kernelmill.records.text import clean_line

MODEL_FILE = "model.py"
"""The file that defines ModelNew, in most backends."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_MOST_FILES = 64
MOST_BYTES = 2 << 20
SOURCE_SUFFIXES = (".py", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cu", ".cuh", ".inc")


class Origin(enum.StrEnum):
    """Author of a candidate: decides how much isolation it needs."""

    SHIPPED = "shipped"
    COMPOSER = "composer"
    FILE = "file"
    MODEL = "model"
    AGENT = "agent"

    @property
    def trusted(self) -> bool:
        """Whether it may run on a machine that grants little isolation."""
        return self in (Origin.SHIPPED, Origin.COMPOSER)


class Candidate(msgspec.Struct, frozen=True):
    """Source files by path, their author, and a name for messages."""

    files: dict[str, str]
    origin: Origin
    name: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "name", clean_line(self.name))
        if not self.files:
            raise CandidateError(f"{self.name or 'the candidate'} has no files")
        if len(self.files) > _MOST_FILES:
            raise CandidateError(f"{self.name}: more than {_MOST_FILES} files")
        if sum(len(text) for text in self.files.values()) > MOST_BYTES:
            raise CandidateError(f"{self.name}: more than {MOST_BYTES >> 20} MiB of source")
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
