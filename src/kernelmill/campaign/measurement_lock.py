"""Locks that keep compilation and generation from disturbing a timed run.

CPU timing excludes everything else. Timing on a separate device tolerates compilers in other
processes, but not a generator that shares our interpreter. The locks are per-user files, so
concurrent campaigns respect each other. The CPU lock is always taken before the device lock. Timed
runs cannot starve: a campaign builds only a few attempts ahead of its judges.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from kernelmill.judge.devices.base import JudgedDevice
from kernelmill.places import cache_home
from kernelmill.records.errors import WorkspaceError
from kernelmill.workspace.owners import locked

_CPU = "measuring.lock"
_DEVICES = "measuring-devices.lock"

Lock = Callable[[], AbstractContextManager[None]]


@contextmanager
def time_cpu() -> Iterator[None]:
    """Held while something is timed on the processors."""
    with locked(_path(_CPU)):
        yield


@contextmanager
def time_devices() -> Iterator[None]:
    """Held while something is timed on a separate device."""
    with compile_(), locked(_path(_DEVICES)):
        yield


@contextmanager
def compile_() -> Iterator[None]:
    """Held while a compiler runs in another process."""
    with locked(_path(_CPU), shared=True):
        yield


@contextmanager
def generate() -> Iterator[None]:
    """Held while a generator computes in this process."""
    with compile_(), locked(_path(_DEVICES), shared=True):
        yield


def timing_of(device: JudgedDevice) -> Lock:
    """The lock that a timed run on a device needs."""
    return time_devices if device.is_separate else time_cpu


class SharedTiming:
    """One lock held jointly by the timed runs of several devices."""

    def __init__(self, lock: Lock = time_cpu) -> None:
        self._lock = lock
        self._guard = threading.Lock()
        self._holders = 0
        self._held = ExitStack()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The first holder takes the lock, the last one releases it."""
        with self._guard:
            if self._holders == 0:
                self._held.enter_context(self._lock())
            self._holders += 1
        try:
            yield
        finally:
            with self._guard:
                self._holders -= 1
                if self._holders == 0:
                    self._held.close()


def check_locks() -> None:
    """Raises WorkspaceError where the lock files cannot be written."""
    try:
        with generate():
            pass
    except OSError as error:
        raise WorkspaceError(f"cannot lock a file in {cache_home()}: {error.strerror}") from error


def _path(name: str) -> Path:
    cache_home().mkdir(parents=True, exist_ok=True)
    return cache_home() / name
