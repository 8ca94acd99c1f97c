"""Diagnosis of a candidate: its kernels, and its distance from the device's peak rates."""

from typing import NamedTuple

from kernelmill.judge.devices.cuda.protocol import Hardware, KernelSeen, Profiled
from kernelmill.judge.roofline import LatencyFloor, latency_floor, task_traffic
from kernelmill.records.task import Task
from kernelmill.records.verdict import DeviceDiagnosis, KernelUse, Latency, Profile

_NEUTRAL = ("memcpy", "memset", "fillfunctor", "copy_kernel", "copy_device_to_device")
"""Parts of the names of kernels that run for allocations and for copies of views."""
_ANONYMOUS = "(anonymous namespace)::"
_FLOPS_PER_CYCLE = {"float16": 4096, "bfloat16": 4096, "float64": 256}
_SINGLE_FLOPS_PER_CYCLE = 256
"""Peak rates per multiprocessor of the newest architecture."""
_SAFETY_FACTOR = 1.5
"""Factor on the device's stated peaks, since a floor must never refuse a correct kernel."""
_MOST_KERNELS = 8


def gpu_floor(task: Task, hardware: Hardware) -> LatencyFloor:
    return latency_floor(
        task,
        _SAFETY_FACTOR * hardware.bytes_per_ms,
        _SAFETY_FACTOR * _flops_per_ms(task, hardware),
    )


class Findings(NamedTuple):
    diagnosis: DeviceDiagnosis
    profile: Profile


def diagnose_profile(
    seen: Profiled, own: tuple[str, ...], task: Task, latency: Latency, hardware: Hardware
) -> Findings:
    """Compare a profile with the peaks of the device; `own` are the names of its own kernels."""
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
    reads, writes = task_traffic(task)
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
    plain = name.replace(_ANONYMOUS, "").partition("(")[0].partition("<")[0].split()[-1:]
    return bool(plain) and plain[0].rpartition("::")[2] in own


def _is_neutral(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in _NEUTRAL)


def _flops_per_ms(task: Task, hardware: Hardware) -> float:
    rate = _FLOPS_PER_CYCLE.get(task.dtype, _SINGLE_FLOPS_PER_CYCLE)
    return rate * hardware.multiprocessors * hardware.cycles_per_ms
