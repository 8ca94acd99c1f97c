"""Sampling profiler of a candidate, from outside of its sandbox.

It stops the sandbox at a random moment and reads where its threads are. No name, wrapper or patch
inside the sandbox can hide code from it: addresses, processor times and the files behind memory
come from the operating system.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from kernelmill.judge.devices.cpu.code_identity import KnownCode, is_page_of_its_file
from kernelmill.judge.foreign_compute import NEGLIGIBLE_MS
from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.records.verdict import Profile
from kernelmill.sandbox import ConfinedProcess, MemoryRegion, SandboxProtocolError

_ENOUGH_LOOKS = 12
"""Number of computing threads that decide where the time goes, if none was in foreign code."""
_ENOUGH_DOUBTFUL_LOOKS = 48
"""Number that decides if some were."""
_MUCH = 4
"""So many times the kernel's time in the framework's allowed calls make it doubtful, too."""
_ENOUGH_SAMPLES = 24
"""Number of threads of any kind that does: a kernel may spend its time in memcpy."""
_UNSEEN = 3.0
"""What was in none of n samples is in less than this many n-th of the time, at 95%."""
_CONFIDENCE = 1.64
_PROCESS_CLOCK = 2
_C_LIBRARY = re.compile(r"/libc[-.][^/]*$")
_WORD = np.dtype(np.uint64)

CodeOwner = Literal["kernel", "foreign", "framework", "neutral"]


class _ThreadState(NamedTuple):
    used: int
    """Nanoseconds of processor time."""
    address: int | None
    """Where it computes; None where it waits in the kernel."""
    stack: int = 0
    """The end of its stack."""


class Sampler:
    """Counts in whose code a candidate is found at random moments.

    A batch is looked at once, at a moment that is drawn before it begins: until then it is like
    any timed batch, and what the candidate does once it has felt the look does not count. The
    candidate may run in several processes, one after the other.
    """

    def __init__(self, known: KnownCode, artefacts: Mapping[str, bytes]) -> None:
        """`artefacts` are the libraries that were built for the candidate, by file name."""
        self.artefacts = artefacts
        self._known = known
        self._found: Counter[CodeOwner] = Counter()
        """Threads that were computing, by whose code they were in."""
        self._processor_nanoseconds = 0
        self._calls = 0

    @property
    def looks(self) -> int:
        """Number of threads that were found computing, not waiting for each other."""
        return self._found["kernel"] + self._found["foreign"]

    @property
    def is_decided(self) -> bool:
        """Whether more looks would change nothing.

        Either there are enough of them, or foreign code that none has met takes less time than is
        accepted anyway. The latter decides on calls of microseconds, whose time is spent in
        Python: foreign time cannot exceed the processor time that was measured.
        """
        if self._leaves_the_work:
            return self.looks + self._found["framework"] >= _ENOUGH_DOUBTFUL_LOOKS
        if self._found["foreign"]:
            return self.looks >= _ENOUGH_DOUBTFUL_LOOKS
        if self.looks >= _ENOUGH_LOOKS or self._found.total() >= _ENOUGH_SAMPLES:
            return True
        unseen = min(1.0, _UNSEEN / max(1, self._found.total()))
        return self._calls > 0 and unseen * self._milliseconds_per_call <= NEGLIGIBLE_MS

    @property
    def _leaves_the_work(self) -> bool:
        """Whether the framework may do what the kernel should, in time that counts."""
        framework = self._found["framework"]
        much = framework > _MUCH * self._found["kernel"]
        return much and self._milliseconds(framework) > NEGLIGIBLE_MS

    def _milliseconds(self, found: float) -> float:
        return found / max(1, self._found.total()) * self._milliseconds_per_call

    @property
    def _milliseconds_per_call(self) -> float:
        return self._processor_nanoseconds / max(1, self._calls) / 1e6

    def run(
        self, runner: RunnerHandle, calls: int, seconds: float, moment: float
    ) -> list[list[int]]:
        """Let a stopped runner make a batch of calls, and look at it after `moment` seconds.

        Returns the addresses of the outputs. It is stopped again after that.
        """
        deadline = time.monotonic() + seconds
        self.sample(runner.sandbox, {"do": "batch", "calls": calls}, calls, seconds, moment)
        return runner.finish_batch(max(0.001, deadline - time.monotonic()))

    def sample(
        self,
        process: ConfinedProcess,
        request: dict[str, Any],
        calls: int,
        seconds: float,
        moment: float,
    ) -> None:
        """Look once at a stopped process while it works on a request, and wait for its answer."""
        deadline = time.monotonic() + seconds
        process.send(request)
        before = _processor_time(process.pid)
        used = {thread: _state(process.pid, thread).used for thread in process.threads()}
        process.resume()
        time.sleep(moment)
        if not process.has_answered():
            process.stop()
            self._look(process, used)
            process.resume()
            process.wait_for_answer(max(0.001, deadline - time.monotonic()))
        process.stop()
        self._processor_nanoseconds += _processor_time(process.pid) - before
        self._calls += calls

    def profile(self) -> Profile:
        total = max(1, self._found.total())
        foreign = _least_share(self._found["foreign"], total)
        return Profile(
            looks=self.looks,
            kernel=self._found["kernel"] / total,
            framework=self._found["framework"] / total,
            framework_ms=self._milliseconds(self._found["framework"]),
            foreign=foreign,
            foreign_ms=foreign * self._milliseconds_per_call,
        )

    def _look(self, process: ConfinedProcess, used: dict[int, int]) -> None:
        """Note where every thread is that has computed since the beginning."""
        regions = process.regions(executable=True)
        for thread in process.threads():
            state = _state(process.pid, thread)
            if state.address is not None and state.used > used.get(thread, 0):
                owner = self._classify(process, regions, state.address)
                if owner == "neutral":
                    owner = self._for_whom(process, regions, state)
                self._found[owner] += 1

    def _classify(
        self, process: ConfinedProcess, regions: list[MemoryRegion], address: int
    ) -> CodeOwner:
        """Whose code is at an address: all that is neither known nor the kernel's is foreign."""
        region = _region_of(regions, address)
        if region is None or not is_page_of_its_file(process.pid, address):
            return "foreign"
        if self._known.is_neutral(region):
            return "neutral"
        if self._known.is_framework_call(region, address):
            return "framework"
        return "kernel" if self._is_kernel(process, region) else "foreign"

    def _for_whom(
        self, process: ConfinedProcess, regions: list[MemoryRegion], state: _ThreadState
    ) -> CodeOwner:
        """Who has called the C library: its copies leave their caller's address on the stack.

        What it does for the framework is to fill and copy.
        """
        region = _region_of(regions, state.address)
        if region is None or not _C_LIBRARY.search(region.path):
            return "neutral"
        try:
            top = int(process.read([(state.stack, _WORD.itemsize)]).view(_WORD)[0])
        except SandboxProtocolError:
            return "neutral"
        if _region_of(regions, top) is None:
            return "neutral"
        owner = self._classify(process, regions, top)
        return "framework" if owner == "foreign" else owner

    def _is_kernel(self, process: ConfinedProcess, region: MemoryRegion) -> bool:
        """Whether it holds, byte for byte, the code that was built for the candidate."""
        built = self.artefacts.get(region.path.rpartition("/")[2])
        if built is None:
            return False
        code = built[region.offset : region.offset + region.end - region.start]
        return bool(code) and process.read([(region.start, len(code))]).tobytes() == code


def _region_of(regions: list[MemoryRegion], address: int | None) -> MemoryRegion | None:
    if address is None:
        return None
    return next((region for region in regions if region.start <= address < region.end), None)


def _least_share(found: int, looks: int) -> float:
    """The share that so many of these looks prove, at 95%: one of two proves next to nothing."""
    share, spread = found / looks, _CONFIDENCE**2 / looks
    deviation = _CONFIDENCE * math.sqrt(share * (1 - share) / looks + spread / (4 * looks))
    return max(0.0, (share + spread / 2 - deviation) / (1 + spread))


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
    if fields[:1] != ["-1"]:
        return _ThreadState(used, None)
    return _ThreadState(used, int(fields[2], 16), int(fields[1], 16))
