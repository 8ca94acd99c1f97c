"""Latency floor of a task on the CPU."""

from kernelmill.judge.roofline import LatencyFloor, latency_floor
from kernelmill.records.task import Task

# Above every CPU there is: a floor must never refuse a correct kernel.
_CYCLES_PER_MS = 6.0e6
_BYTES_PER_CYCLE = 128
_FLOPS_PER_CYCLE = 256


def cpu_floor(task: Task, threads: int) -> LatencyFloor:
    cycles_per_ms = _CYCLES_PER_MS * threads
    return latency_floor(task, cycles_per_ms * _BYTES_PER_CYCLE, cycles_per_ms * _FLOPS_PER_CYCLE)
