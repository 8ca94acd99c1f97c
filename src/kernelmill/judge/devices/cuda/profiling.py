"""Profile of the kernels that run on the device. Used inside sandboxes only.

It comes from the candidate's own process, and so is a diagnosis and no evidence.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from kernelmill.judge.devices.cuda.protocol import KernelSeen, Profiled


def profile_calls(calls: Sequence[Callable[[], object]], compile_cache: Path) -> Profiled:
    """Make the calls under the framework's profiler. Returns their kernels, the hottest first."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for call in calls:
            call()
        torch.cuda.synchronize()
    trace = compile_cache / "trace.json"
    profiler.export_chrome_trace(str(trace))
    spills = dict(_spills())
    seen: dict[str, KernelSeen] = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            _count(seen, event, spills)
    trace.unlink()
    hottest = sorted(seen.values(), key=lambda kernel: -kernel.nanoseconds)
    return Profiled(hottest, len(calls))


def _count(seen: dict[str, KernelSeen], event: dict[str, Any], spills: dict[str, int]) -> None:
    name, details = str(event["name"]), event.get("args", {})
    if name not in seen:
        occupancy = details.get("est. achieved occupancy %")
        seen[name] = KernelSeen(
            name=name,
            launches=0,
            nanoseconds=0,
            grid=_product(details.get("grid")),
            block=_product(details.get("block")),
            registers=int(details.get("registers per thread", 0)),
            shared_bytes=int(details.get("shared memory", 0)),
            occupancy=None if occupancy is None else occupancy / 100,
            spills=spills.get(name),
        )
    seen[name].launches += 1
    seen[name].nanoseconds += int(1000 * event.get("dur", 0))


def _product(sizes: list[int] | None) -> int:
    product = 1
    for size in sizes or ():
        product *= size
    return product if sizes else 0


def _spills() -> Iterator[tuple[str, int]]:
    """Spilled registers by kernel, as Triton's compiler reports them for the candidate's module."""
    for value in vars(sys.modules.get("candidate_model", sys)).values():
        for cache in getattr(value, "device_caches", {}).values():
            for kernel in cache[0].values():
                yield kernel.metadata.name, int(kernel.n_spills)
