"""Which kernels run on the device, by the framework's profiler. Used inside cells only.

What it says comes from the candidate's own process: a diagnosis, and a tripwire at most.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from kernelmill.judge.cuda.protocol import KernelSeen, Profiled


def profiled(calls: Sequence[Callable[[], object]], workshop: Path) -> Profiled:
    """Make the calls under the profiler; their kernels, the hottest first."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for call in calls:
            call()
        torch.cuda.synchronize()
    trace = workshop / "trace.json"
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
    """What Triton's compiler says of the kernels that the candidate's module holds."""
    for value in vars(sys.modules.get("candidate_model", sys)).values():
        for cache in getattr(value, "device_caches", {}).values():
            for kernel in cache[0].values():
                yield kernel.metadata.name, int(kernel.n_spills)
