"""A floor no honest measurement can be under, from bytes and arithmetic alone."""

import math
from typing import NamedTuple

from kernelmill.tasks.task import Kind, Task
from kernelmill.tensors.layout import item_size

# Above every processor there is: a floor must never refuse an honest kernel.
_CLOCK_PER_MS = 6.0e6
_BYTES_PER_CYCLE = 128
_FLOPS_PER_CYCLE = 256
_LEAST_READ = 1 / 8
"""How little of its inputs an honest kernel may need to read (slices, masks)."""


class Floor(NamedTuple):
    memory: float
    """Milliseconds to move the data once: binding."""
    arithmetic: float
    """Milliseconds for the reference's own arithmetic; a kernel that finds less to do beats it."""


def least_milliseconds(task: Task, threads: int) -> Floor:
    """On the processor."""
    rate = _CLOCK_PER_MS * threads
    return floor(task, rate * _BYTES_PER_CYCLE, rate * _FLOPS_PER_CYCLE)


def floor(task: Task, bytes_per_ms: float, flops_per_ms: float) -> Floor:
    reads = sum(_bytes(kind) for kind in (*task.shown.tensors, *task.state.values()))
    writes = sum(_bytes(kind) for kind in task.outputs)
    return Floor(
        memory=(writes + _LEAST_READ * reads) / bytes_per_ms, arithmetic=task.flops / flops_per_ms
    )


def _bytes(kind: Kind) -> int:
    return math.prod(kind.shape) * item_size(kind.dtype)
