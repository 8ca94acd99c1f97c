"""The faiss index of a memory as a file beside its database.

The file is a cache. It names the vectors it was built from, and has a checksum; whatever does not
match the memory, or cannot be read, is treated as absent.
"""

import contextlib
import hashlib
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kernelmill.memory.rows import VectorSnapshot
from kernelmill.memory.store import Memory

_FORMAT = 1
_SUFFIX = ".index"
_MOST_HEADER = 4096


class SavedIndex(NamedTuple):
    snapshot: VectorSnapshot
    index: Any
    """A faiss index."""


class _Header(msgspec.Struct, frozen=True):
    """The first line of the file, as JSON. The index follows as faiss serializes it."""

    format: int
    snapshot: VectorSnapshot
    digest: str


def save_index(memory: Memory, snapshot: VectorSnapshot, index: Any) -> None:
    """Replace the file atomically.

    Does nothing for a database in RAM, or where the folder cannot be written: then the next
    process builds its own index.
    """
    import faiss

    path = _path(memory)
    if path is None:
        return
    body = faiss.serialize_index(index).tobytes()
    header = _Header(_FORMAT, snapshot, hashlib.sha256(body).hexdigest())
    with contextlib.suppress(OSError):
        _replace(path, msgspec.json.encode(header) + b"\n", body)


def load_index(memory: Memory) -> SavedIndex | None:
    """None where there is no file, or one that is corrupt or of other vectors."""
    path = _path(memory)
    if path is None or find_spec("faiss") is None:
        return None
    try:
        return _load(path, memory)
    except (OSError, msgspec.DecodeError, RuntimeError):
        # faiss raises RuntimeError for what it cannot read.
        return None


def _load(path: Path, memory: Memory) -> SavedIndex | None:
    import faiss

    with path.open("rb") as file:
        header = msgspec.json.decode(file.readline(_MOST_HEADER), type=_Header)
        snapshot = header.snapshot
        if header.format != _FORMAT or memory.snapshot(snapshot.last) != snapshot:
            return None
        body = file.read()
    if hashlib.sha256(body).hexdigest() != header.digest:
        return None
    index: Any = faiss.deserialize_index(np.frombuffer(body, np.uint8))
    whole = (index.ntotal, index.d) == (snapshot.count, memory.embedder.dimensions)
    return SavedIndex(snapshot, index) if whole else None


def _path(memory: Memory) -> Path | None:
    database = memory.file
    return None if database is None else database.with_name(database.name + _SUFFIX)


def _replace(path: Path, *parts: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
