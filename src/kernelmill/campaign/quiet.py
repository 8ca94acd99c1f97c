"""Keeps building and measuring apart: on a busy machine a clock tells of its neighbours.

The lock is a file of this user, so campaigns in several processes respect each other as well.
Builders hold it together; the clock holds it alone. The clock cannot starve: nobody builds more
than a few attempts ahead of it.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kernelmill.errors import WorkspaceError
from kernelmill.places import cache_home
from kernelmill.workspace.owners import locked

_FILE = "measuring.lock"


@contextmanager
def measuring() -> Iterator[None]:
    with locked(_path()):
        yield


class Together:
    """The clocks of several devices, which do not disturb each other, against everybody else.

    The first to begin takes the lock, the last to end gives it back.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._measuring = 0
        self._lock = ExitStack()

    @contextmanager
    def measuring(self) -> Iterator[None]:
        with self._guard:
            if self._measuring == 0:
                self._lock.enter_context(measuring())
            self._measuring += 1
        try:
            yield
        finally:
            with self._guard:
                self._measuring -= 1
                if self._measuring == 0:
                    self._lock.close()


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
