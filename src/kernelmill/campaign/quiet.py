"""Keeps clocks apart from what would bend them: on a busy machine a clock tells of its neighbours.

A clock for the processors tolerates nobody else. A clock for a device stands programs in other
processes, such as compilers, but not a generator that computes: that one has the same Python.

The locks are files of this user, so campaigns in several processes respect each other as well;
whoever takes both takes the processors' first. Clocks cannot starve: nobody builds more than a few
attempts ahead of them.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from kernelmill.errors import WorkspaceError
from kernelmill.places import cache_home
from kernelmill.workspace.owners import locked

_PROCESSORS = "measuring.lock"
_DEVICES = "measuring-devices.lock"

Clock = Callable[[], AbstractContextManager[None]]


@contextmanager
def measuring() -> Iterator[None]:
    with locked(_path(_PROCESSORS)):
        yield


@contextmanager
def measuring_devices() -> Iterator[None]:
    with building(), locked(_path(_DEVICES)):
        yield


@contextmanager
def building() -> Iterator[None]:
    """In other processes."""
    with locked(_path(_PROCESSORS), shared=True):
        yield


@contextmanager
def writing() -> Iterator[None]:
    """In this process."""
    with building(), locked(_path(_DEVICES), shared=True):
        yield


class Together:
    """The clocks of several devices, which do not disturb each other, against everybody else.

    The first to begin takes the lock, the last to end gives it back.
    """

    def __init__(self, clock: Clock = measuring) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._measuring = 0
        self._lock = ExitStack()

    @contextmanager
    def measuring(self) -> Iterator[None]:
        with self._guard:
            if self._measuring == 0:
                self._lock.enter_context(self._clock())
            self._measuring += 1
        try:
            yield
        finally:
            with self._guard:
                self._measuring -= 1
                if self._measuring == 0:
                    self._lock.close()


def check() -> None:
    """Raise WorkspaceError where the locks cannot be kept."""
    try:
        with writing():
            pass
    except OSError as error:
        raise WorkspaceError(f"cannot keep a lock in {cache_home()}: {error.strerror}") from error


def _path(name: str) -> Path:
    cache_home().mkdir(parents=True, exist_ok=True)
    return cache_home() / name
