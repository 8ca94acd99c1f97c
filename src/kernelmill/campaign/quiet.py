"""Keeps building and measuring apart: on a busy machine a clock tells of its neighbours.

The lock is a file of this user, so campaigns in several processes respect each other as well.
Builders hold it together; the clock holds it alone. The clock cannot starve: nobody builds more
than a few attempts ahead of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelmill.errors import WorkspaceError
from kernelmill.places import cache_home
from kernelmill.workspace.owners import locked

_FILE = "measuring.lock"


@contextmanager
def measuring() -> Iterator[None]:
    with locked(_path()):
        yield


@contextmanager
def building() -> Iterator[None]:
    with locked(_path(), shared=True):
        yield


def check() -> None:
    """Raise WorkspaceError where the lock cannot be kept."""
    try:
        with building():
            pass
    except OSError as error:
        raise WorkspaceError(f"cannot keep a lock in {cache_home()}: {error.strerror}") from error


def _path() -> Path:
    cache_home().mkdir(parents=True, exist_ok=True)
    return cache_home() / _FILE
