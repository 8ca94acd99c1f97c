"""Building in cells: what every backend with a compiler does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernelmill.backends import cache
from kernelmill.backends.base import BuildFailed, Requirement
from kernelmill.sandbox import (
    Cell,
    CellFailure,
    CellLimitExceeded,
    CellTimeout,
    Limits,
    Policy,
    Zygote,
)

PROGRAMS = "kernelmill.backends.compiling"
SECONDS = 120.0
_LARGEST_LIBRARY = 64 << 20


def _policy(seconds: float, reading: tuple[str, ...]) -> Policy:
    limits = Limits(memory_bytes=6 << 30, lifetime_seconds=seconds + 10, processes=64)
    return Policy(limits=limits, may_execute=True, reading=reading)


@contextmanager
def builder(
    entry: str,
    arguments: dict[str, Any],
    zygote: Zygote,
    seconds: float = SECONDS,
    reading: tuple[str, ...] = (),
) -> Iterator[Cell]:
    """A cell that runs a program ("module:function"); raises BuildFailed whatever goes wrong."""
    try:
        with zygote.spawn(entry, arguments, _policy(seconds, reading)) as cell:
            yield cell
    except CellTimeout as failure:
        raise BuildFailed(
            "time-out", f"not built within {failure.seconds:.0f} s", (), "simplify templates"
        ) from failure
    except CellLimitExceeded as failure:
        raise BuildFailed("limit", f"the build went {failure}", ()) from failure
    except CellFailure as failure:
        raise BuildFailed("crash", f"the build {failure}", ()) from failure


def take(descriptors: list[int]) -> bytes | None:
    content = None
    for descriptor in descriptors:
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(file.fileno()).st_size <= _LARGEST_LIBRARY:
                content = file.read()
    return content


def cache_requirement() -> Requirement:
    trouble = cache.usable()
    return Requirement(
        "build cache",
        "" if trouble else str(cache.cache_folder()),
        f"make it writable, or set XDG_CACHE_HOME ({trouble})",
    )
