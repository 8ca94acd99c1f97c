"""Threads of OpenMP in a process that is to be forked. Used inside sandboxes only."""

import ctypes
import os
import time
from pathlib import Path

_OPENMP = ("libgomp", "libiomp", "libomp")
_PAUSE_HARD = 2
_MOST_SECONDS = 2.0


def end_threads() -> None:
    """End the threads of parallel regions; the next region starts new ones.

    A fork has none of its parent's threads, and would wait for them in its first parallel region.
    """
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {Path(line.split(maxsplit=5)[-1]) for line in lines if "/" in line}
    for file in files:
        if file.name.startswith(_OPENMP):
            ctypes.CDLL(str(file)).omp_pause_resource_all(_PAUSE_HARD)
    deadline = time.monotonic() + _MOST_SECONDS
    while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() < deadline:
        time.sleep(0.001)
