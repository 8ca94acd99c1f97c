"""Where a candidate's time goes, seen from outside: stop it now and then, look where it stands.

No name, wrapper or patch inside the cell can hide from this: the addresses come from the kernel.
"""

import re
import select
import time
from typing import Any

import numpy as np

from kernelmill.judge.verdict import Profile
from kernelmill.sandbox import Cell

_FRAMEWORK = re.compile(r"/lib(?:torch|c10|mkl|dnnl|openblas|blas|shm|caffe2|triton)[^/]*\.so")
_MEAN_PAUSE = 0.0008


class Sampler:
    """Counts where the threads of one cell stand."""

    def __init__(self, cell: Cell, kernel_files: frozenset[str]) -> None:
        self._cell = cell
        self._kernel_files = kernel_files
        self._regions: list[tuple[int, int, str]] = []
        self._counts = {"kernel": 0, "framework": 0, "other": 0}

    def run(self, body: dict[str, Any], seconds: float, generator: np.random.Generator) -> Any:
        """Let the stopped cell answer one request, looking in at random moments."""
        deadline = time.monotonic() + seconds
        self._cell.send(body)
        self._read_regions()
        while time.monotonic() < deadline:
            self._cell.resume()
            pause = float(generator.exponential(_MEAN_PAUSE)) + 0.0001
            ready, _, _ = select.select([self._cell.answers], [], [], pause)
            self._cell.stop()
            if ready:
                break
            self._look()
        return self._cell.receive(max(0.001, deadline - time.monotonic()))

    @property
    def computing(self) -> int:
        """How often a thread was seen computing, not waiting or interpreting."""
        return self._counts["kernel"] + self._counts["framework"]

    def profile(self) -> Profile:
        total = sum(self._counts.values())
        share = {name: count / max(1, total) for name, count in self._counts.items()}
        return Profile(total, share["kernel"], share["framework"], share["other"])

    def _look(self) -> None:
        for thread in self._cell.threads():
            address = _program_counter(self._cell.pid, thread)
            if address is not None:
                self._counts[self._classify(address)] += 1

    def _classify(self, address: int) -> str:
        for start, end, path in self._regions:
            if start <= address < end:
                if path.rpartition("/")[2] in self._kernel_files and "site-packages" not in path:
                    return "kernel"
                return "framework" if _FRAMEWORK.search(path) else "other"
        return "other"

    def _read_regions(self) -> None:
        self._regions = []
        with open(f"/proc/{self._cell.pid}/maps") as maps:
            for line in maps:
                fields = line.split(maxsplit=5)
                if "x" in fields[1] and len(fields) == 6:
                    start, _, end = fields[0].partition("-")
                    self._regions.append((int(start, 16), int(end, 16), fields[5].strip()))


def _program_counter(pid: int, thread: int) -> int | None:
    """Where a stopped thread would go on; None where it waits inside the kernel."""
    try:
        with open(f"/proc/{pid}/task/{thread}/syscall") as state:
            fields = state.read().split()
    except OSError:
        return None
    return int(fields[2], 16) if fields[:1] == ["-1"] else None
