"""Sampling profiler of a candidate, from outside of its sandbox.

It stops the sandbox at random moments and reads where its threads are. No name, wrapper or patch
inside the sandbox can hide code from it: addresses, processor times and the files behind memory
come from the operating system.
"""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from kernelmill.judge.devices.cpu.code_identity import KnownCode, is_page_of_its_file
from kernelmill.judge.foreign_compute import NEGLIGIBLE_MS
from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.records.verdict import Profile
from kernelmill.sandbox import ConfinedProcess, MemoryRegion

_LONGEST_PAUSE = 0.0006
_ENOUGH_LOOKS = 12
"""Number of looks at computing threads that decide where the time goes."""
_ENOUGH_SAMPLES = 96
"""Number of samples of any kind that do: a kernel may spend its time in the C library's memcpy."""
_UNSEEN = 3.0
"""What was in none of n samples is in less than this many n-th of the time, at 95%."""
_PROCESS_CLOCK = 2

Owner = Literal["kernel", "foreign", "neutral"]


class _ThreadState(NamedTuple):
    used: int
    """Nanoseconds of processor time."""
    address: int | None
    """Where it computes; None where it waits in the kernel."""


class Sampler:
    """Adds up the processor time of a candidate by whose code it is spent in.

    The candidate may run in several processes, one after the other.
    """

    def __init__(self, known: KnownCode, artefacts: Mapping[str, bytes]) -> None:
        """`artefacts` are the libraries that were built for the candidate, by file name."""
        self._known = known
        self._artefacts = artefacts
        self._nanoseconds: Counter[Owner] = Counter()
        self._used: dict[int, int] = {}
        self._processor_nanoseconds = 0
        self._calls = 0
        self._samples = 0
        self._pause = _LONGEST_PAUSE
        self.looks = 0
        """Number of samples of threads that were computing, not waiting for each other."""

    @property
    def is_decided(self) -> bool:
        """Whether more samples would change nothing.

        Either there are enough samples, or foreign code that no sample has met takes less time
        than is accepted anyway. The latter decides on calls of microseconds, whose time is spent
        in Python: foreign time cannot exceed the processor time that was measured.
        """
        if self.looks >= _ENOUGH_LOOKS or self._samples >= _ENOUGH_SAMPLES:
            return True
        if not self._calls or self._nanoseconds["foreign"]:
            return False
        unseen = min(1.0, _UNSEEN / max(1, self._samples))
        return unseen * self._milliseconds_per_call <= NEGLIGIBLE_MS

    @property
    def _milliseconds_per_call(self) -> float:
        return self._processor_nanoseconds / max(1, self._calls) / 1e6

    def run(
        self, runner: RunnerHandle, calls: int, seconds: float, rng: np.random.Generator
    ) -> list[list[int]]:
        """Let a stopped runner make a batch of calls, and sample it meanwhile.

        Returns the addresses of the outputs. It is stopped again after that.
        """
        deadline = time.monotonic() + seconds
        self.sample(runner.sandbox, {"do": "batch", "calls": calls}, calls, seconds, rng)
        return runner.finish_batch(max(0.001, deadline - time.monotonic()))

    def sample(
        self,
        process: ConfinedProcess,
        request: dict[str, Any],
        calls: int,
        seconds: float,
        rng: np.random.Generator,
    ) -> None:
        """Sample a stopped process while it works on a request, until its answer has come."""
        deadline = time.monotonic() + seconds
        process.send(request)
        before = _processor_time(process.pid)
        self._used = {thread: _state(process.pid, thread).used for thread in process.threads()}
        running = 0.0
        while time.monotonic() < deadline:
            resumed = time.monotonic()
            process.resume()
            time.sleep(rng.uniform(0, self._pause))
            answered = process.has_answered()
            running += time.monotonic() - resumed
            process.stop()
            if answered:
                break
            self._look(process)
        self._processor_nanoseconds += _processor_time(process.pid) - before
        # A batch that is answered within one pause is looked at earlier the next time.
        self._pause = min(_LONGEST_PAUSE, max(running, self._pause / 2))
        self._calls += calls

    def profile(self) -> Profile:
        total = max(1, self._nanoseconds.total())
        foreign = self._nanoseconds["foreign"] / total
        return Profile(
            looks=self.looks,
            kernel=self._nanoseconds["kernel"] / total,
            foreign=foreign,
            foreign_ms=foreign * self._milliseconds_per_call,
        )

    def _look(self, process: ConfinedProcess) -> None:
        """Attribute the time of each thread since the last sample to where the thread is now.

        A thread that was not there before has spent all of its time since.
        """
        regions: list[MemoryRegion] | None = None
        for thread in process.threads():
            used, address = _state(process.pid, thread)
            spent = used - self._used.get(thread, 0)
            self._used[thread] = used
            if spent and address is not None:
                # What is mapped can change from one look to the next.
                regions = process.regions(executable=True) if regions is None else regions
                owner = self._classify(process, regions, address)
                self._nanoseconds[owner] += spent
                self._samples += 1
                self.looks += owner != "neutral"

    def _classify(
        self, process: ConfinedProcess, regions: list[MemoryRegion], address: int
    ) -> Owner:
        """Whose code is at an address: all that is neither known nor the kernel's is foreign."""
        region = next((r for r in regions if r.start <= address < r.end), None)
        if region is None or not is_page_of_its_file(process.pid, address):
            return "foreign"
        if self._known.is_neutral(region, address):
            return "neutral"
        return "kernel" if self._is_kernel(process, region) else "foreign"

    def _is_kernel(self, process: ConfinedProcess, region: MemoryRegion) -> bool:
        """Whether it holds, byte for byte, the code that was built for the candidate."""
        built = self._artefacts.get(region.path.rpartition("/")[2])
        if built is None:
            return False
        code = built[region.offset : region.offset + region.end - region.start]
        return bool(code) and process.read([(region.start, len(code))]).tobytes() == code


def _processor_time(pid: int) -> int:
    try:
        return time.clock_gettime_ns(~pid << 3 | _PROCESS_CLOCK)
    except OSError:
        return 0


def _state(pid: int, thread: int) -> _ThreadState:
    try:
        with open(f"/proc/{pid}/task/{thread}/schedstat") as statistics:
            used = int(statistics.read().split()[0])
        with open(f"/proc/{pid}/task/{thread}/syscall") as state:
            fields = state.read().split()
    except OSError:
        return _ThreadState(0, None)
    return _ThreadState(used, int(fields[2], 16) if fields[:1] == ["-1"] else None)
