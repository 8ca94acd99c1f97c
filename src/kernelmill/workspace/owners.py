"""Owners of planned attempts: processes, each with a file lock that ends when the process does."""

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_GUARD = "guard"


class Owner:
    """An identity of this process that is alive until the process ends, in whatever way."""

    def __init__(self, folder: Path) -> None:
        self.name = uuid.uuid4().hex
        folder.mkdir(exist_ok=True)
        self._path = folder / self.name
        with _guarded(folder):
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def is_alive(folder: Path, name: str) -> bool:
    try:
        file = os.open(folder / name, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def remove_dead_owners(folder: Path) -> None:
    """Remove the files of owners whose process has ended."""
    with _guarded(folder):
        for path in folder.iterdir():
            if path.name != _GUARD and not is_alive(folder, path.name):
                path.unlink(missing_ok=True)


@contextmanager
def _guarded(folder: Path) -> Iterator[None]:
    """Keep other processes from removing an owner's file before it is locked."""
    with locked(folder / _GUARD):
        yield


@contextmanager
def locked(path: Path, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a file; it excludes other threads and other processes."""
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
