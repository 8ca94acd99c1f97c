"""What the profile of a candidate says: where it is against the device's limits."""

import math
from typing import NamedTuple

from kernelmill.judge.cuda.protocol import Hardware, KernelSeen, Profiled
from kernelmill.judge.roofline import Floor
from kernelmill.judge.verdict import DeviceDiagnosis, KernelUse, Latency, Profile
from kernelmill.tasks.task import Kind, Task
from kernelmill.tensors.layout import item_size

_NEUTRAL = ("memcpy", "memset", "fillfunctor", "copy_kernel", "copy_device_to_device")
"""What allocation and copies of views run on the device."""
_UNNAMED = "(anonymous namespace)::"
_FLOPS_PER_CYCLE = {"float16": 4096, "bfloat16": 4096, "float64": 256}
_SINGLE_FLOPS_PER_CYCLE = 256
"""A multiprocessor's, of the newest architecture there is."""
_FASTER = 1.5
"""A floor must never refuse an honest kernel: this much faster than the device says it is."""
_LEAST_READ = 1 / 8
_MOST_KERNELS = 8


def least_milliseconds(task: Task, hardware: Hardware) -> Floor:
    """A floor no honest measurement can be under, from bytes and arithmetic alone."""
    reads, writes = _traffic(task)
    return Floor(
        memory=(writes + _LEAST_READ * reads) / (_FASTER * hardware.bytes_per_ms),
        arithmetic=task.flops / (_FASTER * _flops_per_ms(task, hardware)),
    )


class Findings(NamedTuple):
    diagnosis: DeviceDiagnosis
    profile: Profile


def diagnose(
    seen: Profiled, own: tuple[str, ...], task: Task, latency: Latency, hardware: Hardware
) -> Findings:
    """What the profiler saw in some calls, against what the device could do."""
    calls = seen.calls
    total = max(1, sum(kernel.nanoseconds for kernel in seen.kernels))
    foreign = [k for k in seen.kernels if not _is_own(k.name, own) and not _is_neutral(k.name)]
    foreign_ns = sum(kernel.nanoseconds for kernel in foreign)
    profile = Profile(
        looks=sum(kernel.launches for kernel in seen.kernels),
        kernel=sum(k.nanoseconds for k in seen.kernels if _is_own(k.name, own)) / total,
        foreign=foreign_ns / total,
        foreign_ms=foreign_ns / calls / 1e6,
    )
    reads, writes = _traffic(task)
    diagnosis = DeviceDiagnosis(
        kernels=tuple(_use(kernel, calls) for kernel in seen.kernels[:_MOST_KERNELS]),
        busy=min(1.0, total / calls / 1e6 / latency.candidate_ms),
        bandwidth=(reads + writes) / latency.candidate_ms / hardware.bytes_per_ms,
        arithmetic=task.flops / latency.candidate_ms / _flops_per_ms(task, hardware),
    )
    return Findings(diagnosis, profile)


def _use(kernel: KernelSeen, calls: int) -> KernelUse:
    return KernelUse(
        name=kernel.name[:120],
        launches=kernel.launches / calls,
        microseconds=kernel.nanoseconds / calls / 1e3,
        grid=kernel.grid,
        block=kernel.block,
        registers=kernel.registers,
        shared_bytes=kernel.shared_bytes,
        spills=kernel.spills,
        occupancy=kernel.occupancy,
    )


def _is_own(name: str, own: tuple[str, ...]) -> bool:
    plain = name.replace(_UNNAMED, "").partition("(")[0].partition("<")[0].split()[-1:]
    return bool(plain) and plain[0].rpartition("::")[2] in own


def _is_neutral(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in _NEUTRAL)


def _flops_per_ms(task: Task, hardware: Hardware) -> float:
    rate = _FLOPS_PER_CYCLE.get(task.dtype, _SINGLE_FLOPS_PER_CYCLE)
    return rate * hardware.multiprocessors * hardware.cycles_per_ms


def _traffic(task: Task) -> tuple[int, int]:
    reads = sum(_bytes(kind) for kind in (*task.shown.tensors, *task.state.values()))
    return reads, sum(_bytes(kind) for kind in task.outputs)


def _bytes(kind: Kind) -> int:
    return math.prod(kind.shape) * item_size(kind.dtype)
