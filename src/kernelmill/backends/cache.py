"""Built libraries by content: the same sources, flags, compiler and processor build once."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from kernelmill.places import cache_home


def cache_folder() -> Path:
    return cache_home() / "builds"


def cache_key(parts: Iterable[str]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        whole.update(len(encoded).to_bytes(8, "little") + encoded)
    return whole.hexdigest()


def load(key: str) -> bytes | None:
    try:
        return _path(key).read_bytes()
    except OSError:
        return None


def store(key: str, library: bytes) -> None:
    """Appears whole or not at all; a cache that cannot be written is no error."""
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _unnamed_file(path.parent) as file, _folder(path.parent) as folder:
            file.write(library)
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


def _path(key: str) -> Path:
    return cache_folder() / key[:2] / f"{key}.so"


def usable() -> str:
    """Empty where the cache can be written, else why not."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_folder()):
            return ""
    except OSError as error:
        return str(error)
