"""Where a candidate's time goes, seen from outside: stop it now and then, look where it stands.

No name, wrapper or patch inside the cell can hide from this: the addresses and the processor time
of each thread come from the kernel.
"""

import re
import time
from typing import Any

import numpy as np

from kernelmill.judge.verdict import Profile
from kernelmill.sandbox import Cell

# Python itself and the run-time libraries every kernel may use. Whatever else executes, generated
# code in anonymous memory included, is somebody else's computation.
_NEUTRAL = re.compile(
    r"/(?:libgomp|libiomp|libomp|libc|libm|libmvec|libstdc\+\+|libgcc_s|ld-linux|libpthread|libdl"
    r"|libpython|python3?|libffi|_ctypes|_json|_core|libtorch_python)(?:[-.0-9][^/]*)?$"
    r"|/lib-dynload/|^\[v"
)
_PAUSES = (0.0001, 0.0006)
"""Seconds between looks, drawn evenly."""


class Sampler:
    """Adds up where the threads of one cell spend their processor time."""

    def __init__(self, cell: Cell, kernel_files: frozenset[str]) -> None:
        self._cell = cell
        self._kernel_files = kernel_files
        self._regions: list[tuple[int, int, str]] = []
        self._nanoseconds = {"kernel": 0, "foreign": 0, "neutral": 0}
        self._used: dict[int, int] = {}
        self._calls = 0
        self.looks = 0
        """At threads that were computing, not waiting for each other."""

    def run(
        self, body: dict[str, Any], seconds: float, generator: np.random.Generator, calls: int
    ) -> None:
        """Let the stopped cell answer one request of some calls, looking in at random moments."""
        deadline = time.monotonic() + seconds
        self._cell.send(body)
        self._regions = self._cell.regions(executable=True)
        self._look(counting=False)
        while time.monotonic() < deadline:
            self._cell.resume()
            time.sleep(generator.uniform(*_PAUSES))
            answered = self._cell.has_answered()
            self._cell.stop()
            if answered:
                break
            self._look(counting=True)
        self._cell.drop(max(0.001, deadline - time.monotonic()))
        self._calls += calls

    def profile(self) -> Profile:
        total = max(1, sum(self._nanoseconds.values()))
        return Profile(
            looks=self.looks,
            kernel=self._nanoseconds["kernel"] / total,
            foreign=self._nanoseconds["foreign"] / total,
            foreign_ms=self._nanoseconds["foreign"] / max(1, self._calls) / 1e6,
        )

    def _look(self, counting: bool) -> None:
        """Charge the time each thread used since the last look to where it stands now."""
        for thread in self._cell.threads():
            used, address = _state(self._cell.pid, thread)
            spent = used - self._used.get(thread, used)
            self._used[thread] = used
            if counting and spent and address is not None:
                place = self._classify(address)
                self._nanoseconds[place] += spent
                self.looks += place != "neutral"

    def _classify(self, address: int) -> str:
        for start, end, path in self._regions:
            if start <= address < end:
                folder, _, name = path.rpartition("/")
                if name in self._kernel_files and folder.endswith("/candidate"):
                    return "kernel"
                return "neutral" if _NEUTRAL.search(path) else "foreign"
        return "foreign"


def _state(pid: int, thread: int) -> tuple[int, int | None]:
    """Processor time of a stopped thread, and where it would go on (None: waits in the kernel)."""
    try:
        with open(f"/proc/{pid}/task/{thread}/schedstat") as statistics:
            used = int(statistics.read().split()[0])
        with open(f"/proc/{pid}/task/{thread}/syscall") as state:
            fields = state.read().split()
    except OSError:
        return 0, None
    return used, int(fields[2], 16) if fields[:1] == ["-1"] else None
