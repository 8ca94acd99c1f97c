"""Timing model of a core's pipes: each executes in order, and flags synchronise them.

The rates are those that the documentation of a 910B states or implies. The model was not validated
on hardware. It is meant for comparing kernels: bytes moved, instructions issued, and whether copies
and arithmetic overlap.
"""

import math
from collections import deque

LAUNCH_CYCLES = 3700
"""About two microseconds per launch."""
CORES = {"AIV": 40, "AIC": 20}
"""Number of vector cores and of cube cores."""
_VECTOR_BYTES = 256
"""Bytes per repeat of a vector instruction, which takes one cycle unless it is slow."""
_VECTOR_START = 14
_COPY_BYTES = 64
"""Bytes per cycle of a copy engine that has global memory to itself."""
_COPY_START = 300
_BURST_CYCLES = 4.0
_LOCAL_BYTES = 256
"""Bytes per cycle between L1 and L0."""
_CUBE_START = 20
_CUBE_BLOCK = 16
"""Products are computed in blocks of this size along every axis."""
_DEFAULT_CUBE_MACS = 1024
_CUBE_MACS = {"half": 4096, "bfloat16_t": 4096, "float": 1024, "int8_t": 8192}
"""Element type -> multiply-accumulates per cycle."""
PIPES = ("S", "V", "MTE1", "MTE2", "MTE3", "M", "FIX")


class Deadlock(Exception):
    """A pipe waits for a flag that is never set."""


class Pipes:
    """The timeline of one core that runs one program."""

    def __init__(self) -> None:
        self.time = dict.fromkeys(PIPES, 0.0)
        self.busy = dict.fromkeys(PIPES, 0.0)
        self.flags = 0
        self._set: dict[tuple[str, str, int], deque[float]] = {}

    def scalar(self, cycles: int) -> None:
        self.time["S"] += cycles
        self.busy["S"] += cycles

    def work(self, pipe: str, cycles: float) -> None:
        """Starts when the pipe is free and the scalar unit has issued the instruction."""
        self.time[pipe] = max(self.time[pipe], self.time["S"]) + cycles
        self.busy[pipe] += cycles
        self.scalar(1)

    def vector(self, size: int, cost: float) -> None:
        repeats = max(1, -(-size // _VECTOR_BYTES))
        self.work("V", _VECTOR_START + cost * repeats)

    def copy(self, pipe: str, size: int, runs: int) -> None:
        """Every contiguous run of elements costs a burst of its own."""
        self.work(pipe, _COPY_START + max(size / _COPY_BYTES, runs * _BURST_CYCLES))

    def multiply(self, m: int, k: int, n: int, dtype: str, size: int) -> None:
        self.work("MTE1", _CUBE_START + size / _LOCAL_BYTES)
        self.time["M"] = max(self.time["M"], self.time["MTE1"])
        macs = math.prod(-(-extent // _CUBE_BLOCK) * _CUBE_BLOCK for extent in (m, k, n))
        self.work("M", _CUBE_START + macs / _CUBE_MACS.get(dtype, _DEFAULT_CUBE_MACS))

    def set_flag(self, setter: str, waiter: str, event: int) -> None:
        self.flags += 1
        when = max(self.time[setter], self.time["S"])
        self._set.setdefault((setter, waiter, event), deque()).append(when)

    def wait_flag(self, setter: str, waiter: str, event: int) -> None:
        times = self._set.get((setter, waiter, event))
        if not times:
            raise Deadlock(f"{waiter} waits for {setter}, which sets no flag {event}")
        self.time[waiter] = max(self.time[waiter], times.popleft())

    def barrier(self, pipe: str) -> None:
        if pipe == "ALL":
            self.time = dict.fromkeys(PIPES, max(self.time.values()))

    @property
    def cycles(self) -> float:
        return max(self.time.values())
