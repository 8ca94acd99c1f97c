"""Lower bounds on the latency of a task, from its bytes and its arithmetic."""

import math
from typing import NamedTuple

from kernelmill.records.task import Task, TensorSpec
from kernelmill.records.tensors import item_size

_LEAST_READ = 1 / 8
"""Share of its inputs that a correct kernel reads at least (slices and masks skip the rest)."""


class Traffic(NamedTuple):
    """Bytes of all inputs and state, and of all outputs."""

    reads: int
    writes: int


class LatencyFloor(NamedTuple):
    memory: float
    """Milliseconds for moving the data once; a measurement below it is refused."""
    arithmetic: float
    """Milliseconds for the reference's arithmetic; a kernel with a better algorithm beats it."""


def latency_floor(task: Task, bytes_per_ms: float, flops_per_ms: float) -> LatencyFloor:
    traffic = task_traffic(task)
    return LatencyFloor(
        memory=(traffic.writes + _LEAST_READ * traffic.reads) / bytes_per_ms,
        arithmetic=task.flops / flops_per_ms,
    )


def task_traffic(task: Task) -> Traffic:
    reads = sum(_bytes(spec) for spec in (*task.shown.tensors, *task.state.values()))
    return Traffic(reads, sum(_bytes(spec) for spec in task.outputs))


def _bytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * item_size(spec.dtype)
