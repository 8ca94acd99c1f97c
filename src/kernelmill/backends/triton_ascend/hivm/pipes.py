"""A model of a core's pipes: each does one thing after the other, and flags make them wait.

The rates are those of a 910B as its documentation states or implies them; nothing of this was held
against silicon. What it is good for is comparing kernels: bytes moved, instructions issued, and
whether copies and arithmetic overlap.
"""

from collections import deque

CLOCK_HERTZ = 1.85e9
LAUNCH_CYCLES = 3700
"""About two microseconds a launch."""
CORES = {"AIV": 40, "AIC": 20}
BYTES_PER_SECOND = 1.6e12
"""Of global memory, for all cores together."""
_VECTOR_BYTES = 256
"""A cycle, of the vector unit."""
_VECTOR_START = 14
_COPY_BYTES = 64
"""A cycle, of a copy engine that has global memory to itself."""
_COPY_START = 300
_LOCAL_BYTES = 256
_CUBE_START = 20
_CUBE_MACS = {"half": 4096, "bfloat16_t": 4096, "float": 1024, "int8_t": 8192}
PIPES = ("S", "V", "MTE1", "MTE2", "MTE3", "M", "FIX")


class Deadlock(Exception):
    """A pipe waits for a flag that nobody set."""


class Pipes:
    """The timeline of one core for one program."""

    def __init__(self) -> None:
        self.time = dict.fromkeys(PIPES, 0.0)
        self.busy = dict.fromkeys(PIPES, 0.0)
        self.flags = 0
        self._set: dict[tuple[str, str, int], deque[float]] = {}

    def scalar(self, cycles: int) -> None:
        self.time["S"] += cycles
        self.busy["S"] += cycles

    def work(self, pipe: str, cycles: float) -> None:
        """Begins when the pipe is free and the scalar unit has come to it."""
        self.time[pipe] = max(self.time[pipe], self.time["S"]) + cycles
        self.busy[pipe] += cycles
        self.scalar(1)

    def vector(self, size: int, cost: float) -> None:
        repeats = max(1, -(-size // _VECTOR_BYTES))
        self.work("V", _VECTOR_START + cost * repeats)

    def copy(self, pipe: str, size: int, pieces: int) -> None:
        """Each piece that does not lie behind the last one costs a burst of its own."""
        self.work(pipe, _COPY_START + max(size / _COPY_BYTES, pieces * 4.0))

    def multiply(self, m: int, k: int, n: int, item: str, size: int) -> None:
        self.work("MTE1", _CUBE_START + size / _LOCAL_BYTES)
        self.time["M"] = max(self.time["M"], self.time["MTE1"])
        whole = -(-m // 16) * 16 * (-(-k // 16) * 16) * (-(-n // 16) * 16)
        self.work("M", _CUBE_START + whole / _CUBE_MACS.get(item, 1024))

    def set_flag(self, giver: str, taker: str, event: int) -> None:
        self.flags += 1
        when = max(self.time[giver], self.time["S"])
        self._set.setdefault((giver, taker, event), deque()).append(when)

    def wait_flag(self, giver: str, taker: str, event: int) -> None:
        waiting = self._set.get((giver, taker, event))
        if not waiting:
            raise Deadlock(f"{taker} waits for {giver}, which sets no flag {event}")
        self.time[taker] = max(self.time[taker], waiting.popleft())

    def barrier(self, pipe: str) -> None:
        if pipe == "ALL":
            self.time = dict.fromkeys(PIPES, max(self.time.values()))

    @property
    def cycles(self) -> float:
        return max(self.time.values())
