"""Disk cache of builds, by content: the same sources, flags, compiler and CPU build once.

A refusal of the compiler is kept as well, beside the artefacts and under the same kind of key.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from kernelmill.backends.base import BuildFailed, BuildInterrupted
from kernelmill.places import cache_home

_ARTEFACT, _FAILURE = ".so", ".failed.json"


class BuildResult(NamedTuple):
    artefact: bytes
    cached: bool


class _Failure(msgspec.Struct):
    """A BuildFailed on the disk."""

    kind: str
    summary: str
    evidence: tuple[str, ...]
    hint: str


def cache_folder() -> Path:
    return cache_home() / "builds"


def cache_key(parts: Iterable[str]) -> str:
    """Digest of everything that a build depends on."""
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        whole.update(len(encoded).to_bytes(8, "little") + encoded)
    return whole.hexdigest()


def build_once(key: str, build: Callable[[], bytes]) -> BuildResult:
    """The artefact of an earlier build, or of this one, which is then kept.

    Raises the BuildFailed of an earlier build, or of this one. A BuildInterrupted is not kept: the
    next call builds again.
    """
    if (artefact := load_artefact(key)) is not None:
        return BuildResult(artefact, cached=True)
    _raise_known_failure(key)
    try:
        artefact = build()
    except BuildInterrupted:
        raise
    except BuildFailed as failed:
        failure = _Failure(failed.kind, failed.summary, failed.evidence, failed.hint)
        _store(_path(key, _FAILURE), msgspec.json.encode(failure))
        raise
    store_artefact(key, artefact)
    return BuildResult(artefact, cached=False)


def load_artefact(key: str) -> bytes | None:
    try:
        return _path(key, _ARTEFACT).read_bytes()
    except OSError:
        return None


def store_artefact(key: str, artefact: bytes) -> None:
    """Keep an artefact, whole or not at all; a cache that cannot be written is no error."""
    _store(_path(key, _ARTEFACT), artefact)


def cache_problem() -> str:
    """Why the cache cannot be written; empty if it can."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_folder()):
            return ""
    except OSError as error:
        return str(error)


def _raise_known_failure(key: str) -> None:
    try:
        known = msgspec.json.decode(_path(key, _FAILURE).read_bytes(), type=_Failure)
    except (OSError, msgspec.DecodeError):
        return
    raise BuildFailed(known.kind, known.summary, known.evidence, known.hint)


def _store(path: Path, content: bytes) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _unnamed_file(path.parent) as file, _folder(path.parent) as folder:
            file.write(content)
            file.flush()
            # Given a folder, Python calls linkat, which follows the link in /proc to the file.
            os.link(f"/proc/self/fd/{file.fileno()}", path.name, dst_dir_fd=folder)


def _unnamed_file(folder: Path) -> BinaryIO:
    return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600), "wb")


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _path(key: str, suffix: str) -> Path:
    return cache_folder() / key[:2] / f"{key}{suffix}"
