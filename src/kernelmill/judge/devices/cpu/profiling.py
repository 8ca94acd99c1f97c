"""Sampling profiler of a candidate, from outside of its sandbox.

It stops the sandbox at random moments and reads where its threads are. No name, wrapper or patch
inside the sandbox can hide code from it: addresses and processor times come from the kernel.
"""

import re
import time

import numpy as np

from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.records.verdict import Profile
from kernelmill.sandbox import ConfinedProcess, MemoryRegion

# Python itself and the run-time libraries that every kernel may use. All other code but the
# kernel's own counts as foreign, including generated code in anonymous memory.
_NEUTRAL = re.compile(
    r"/(?:libgomp|libiomp|libomp|libc|libm|libmvec|libstdc\+\+|libgcc_s|ld-linux|libpthread|libdl"
    r"|libpython|python3?|libffi|_ctypes|_json|_core|libtorch_python)(?:[-.0-9][^/]*)?$"
    r"|/lib-dynload/|^\[v"
)
_PAUSES = (0.0001, 0.0006)
"""Bounds of the uniformly random seconds between samples."""


class Sampler:
    """Adds up the processor time of a sandbox by the library that it is spent in."""

    def __init__(self, kernel_files: frozenset[str]) -> None:
        self._kernel_files = kernel_files
        self._regions: list[MemoryRegion] = []
        self._nanoseconds = {"kernel": 0, "foreign": 0, "neutral": 0}
        self._used: dict[int, int] = {}
        self._calls = 0
        self.looks = 0
        """Number of samples of threads that were computing, not waiting for each other."""

    def run(
        self, runner: RunnerHandle, calls: int, seconds: float, rng: np.random.Generator
    ) -> list[list[int]]:
        """Let the stopped runner make a batch of calls, and sample it meanwhile.

        Returns the addresses of the outputs. It is stopped again after that.
        """
        process = runner.sandbox
        deadline = time.monotonic() + seconds
        process.send({"do": "batch", "calls": calls})
        self._regions = process.regions(executable=True)
        self._look(process, counting=False)
        while time.monotonic() < deadline:
            process.resume()
            time.sleep(rng.uniform(*_PAUSES))
            answered = process.has_answered()
            process.stop()
            if answered:
                break
            self._look(process, counting=True)
        self._calls += calls
        return runner.finish_batch(max(0.001, deadline - time.monotonic()))

    def profile(self) -> Profile:
        total = max(1, sum(self._nanoseconds.values()))
        return Profile(
            looks=self.looks,
            kernel=self._nanoseconds["kernel"] / total,
            foreign=self._nanoseconds["foreign"] / total,
            foreign_ms=self._nanoseconds["foreign"] / max(1, self._calls) / 1e6,
        )

    def _look(self, process: ConfinedProcess, counting: bool) -> None:
        """Attribute the time of each thread since the last sample to where the thread is now."""
        for thread in process.threads():
            used, address = _state(process.pid, thread)
            spent = used - self._used.get(thread, used)
            self._used[thread] = used
            if counting and spent and address is not None:
                owner = self._classify(address)
                self._nanoseconds[owner] += spent
                self.looks += owner != "neutral"

    def _classify(self, address: int) -> str:
        for start, end, path in self._regions:
            if start <= address < end:
                folder, _, name = path.rpartition("/")
                if name in self._kernel_files and folder.endswith("/candidate"):
                    return "kernel"
                return "neutral" if _NEUTRAL.search(path) else "foreign"
        return "foreign"


def _state(pid: int, thread: int) -> tuple[int, int | None]:
    """The processor time of a stopped thread and its address, None where it waits in the kernel."""
    try:
        with open(f"/proc/{pid}/task/{thread}/schedstat") as statistics:
            used = int(statistics.read().split()[0])
        with open(f"/proc/{pid}/task/{thread}/syscall") as state:
            fields = state.read().split()
    except OSError:
        return 0, None
    return used, int(fields[2], 16) if fields[:1] == ["-1"] else None
