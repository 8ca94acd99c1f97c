"""Metrics of a measured kernel, read from its task, verdict, profile and source."""

from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.records.verdict import (
    DeviceDiagnosis,
    KernelUse,
    Latency,
    Modelled,
    Profile,
    Verdict,
)
from kernelmill.skills.features.operators import bytes_once, operator_metrics
from kernelmill.skills.features.source import source_metrics
from kernelmill.skills.metrics import Metrics, backend_metrics

_UNITS = {
    "MXU": "mxu_percent",
    "VALU": "vector_percent",
    "XLU": "transpose_percent",
    "VLOAD": "load_percent",
    "VSTORE": "store_percent",
    "VSTORE:SPILL": "spill_percent",
}
"""Metrics by the names that the profile of a TPU gives the units."""


def read_metrics(task: Task, candidate: Candidate, verdict: Verdict) -> Metrics | None:
    """All metrics of the verdict's backend; None where the verdict has no latency."""
    if verdict.latency is None:
        return None
    profile, diagnosis = verdict.profile, verdict.diagnosis
    hottest = diagnosis.kernels[0] if diagnosis is not None and diagnosis.kernels else None
    found: dict[str, float] = {
        **operator_metrics(task),
        **_verdict_metrics(task, verdict.latency, verdict.evidence.threads),
        **(_profile_metrics(profile) if profile is not None else {}),
        **(_device_metrics(diagnosis, hottest) if diagnosis is not None and hottest else {}),
        **(_modelled_metrics(task, verdict.modelled, verdict.latency) if verdict.modelled else {}),
        **source_metrics(candidate, verdict.backend, hottest.name if hottest else ""),
    }
    return {
        name: min(max(found[name], 0.0), metric.high) if name in found else None
        for name, metric in backend_metrics(verdict.backend).items()
    }


def _verdict_metrics(task: Task, latency: Latency, threads: int) -> dict[str, float]:
    milliseconds = max(latency.candidate_ms, 1e-9)
    thread_nanoseconds = milliseconds * 1e6 * max(1, threads)
    return {
        "over_baseline": latency.over_baseline.ratio,
        "microseconds": 1e3 * milliseconds,
        "gigabytes_per_second": bytes_once(task) / thread_nanoseconds,
        "gigaflops": task.flops / thread_nanoseconds,
        "memory_share": latency.floor_ms / milliseconds,
        "arithmetic_share": latency.arithmetic_ms / milliseconds,
    }


def _profile_metrics(profile: Profile) -> dict[str, float]:
    return {"kernel_share": profile.kernel, "foreign_share": profile.foreign}


def _device_metrics(diagnosis: DeviceDiagnosis, hottest: KernelUse) -> dict[str, float]:
    device_time = sum(kernel.microseconds for kernel in diagnosis.kernels)
    found = {
        "dram_percent": 100 * diagnosis.bandwidth,
        "arithmetic_percent": 100 * diagnosis.arithmetic,
        "busy_percent": 100 * diagnosis.busy,
        "kernel_launches": diagnosis.launches,
        "hottest_share": hottest.microseconds / max(device_time, 1e-9),
        "registers": float(hottest.registers),
        "shared_kilobytes": hottest.shared_bytes / 1024,
    }
    if hottest.spills is not None:
        found["spilled_bytes"] = 4.0 * hottest.spills
    if hottest.occupancy is not None:
        found["occupancy_percent"] = 100 * hottest.occupancy
    return found


def _modelled_metrics(task: Task, modelled: Modelled, latency: Latency) -> dict[str, float]:
    """Shares of the chip's units. The share of the memory follows from the floor: both are bytes
    over the same bandwidth."""
    found = {
        metric: 100 * modelled.units[unit]
        for unit, metric in _UNITS.items()
        if unit in modelled.units
    }
    once = bytes_once(task)
    if once and latency.candidate_ms:
        found["hbm_percent"] = (
            100 * (modelled.bytes / once) * latency.floor_ms / latency.candidate_ms
        )
    return found
