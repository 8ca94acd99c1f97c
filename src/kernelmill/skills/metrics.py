"""The numbers rules and predictions speak of: what each is, where it lies, who has it.

A metric is read from the task, the verdict, its profile, or the source of the hottest kernel; where
a profile is missing so are its numbers, and a rule must know what to do then.
"""

import enum
from collections.abc import Mapping
from typing import NamedTuple

Metrics = Mapping[str, float | None]
"""Every metric of one backend by name; None where nobody could read it."""
CPP, CUDA, TRITON, PALLAS = "cpp", "cuda", "triton", "pallas"
_GPU = (TRITON, CUDA)
_C_LIKE = (CPP, CUDA)
_PYTHON = (TRITON, PALLAS)
_MOST = 1e9


class From(enum.StrEnum):
    """Where a metric is read."""

    TASK = "task"
    VERDICT = "verdict"
    PROFILE = "profile"
    SOURCE = "source"


class Metric(NamedTuple):
    read_from: From
    about: str
    unit: str = ""
    high: float = _MOST
    """No value is above; none is below 0."""
    backends: tuple[str, ...] = ()
    """Empty: all of them."""

    @property
    def may_be_missing(self) -> bool:
        return self.read_from is From.PROFILE


def _task(about: str, unit: str = "", high: float = _MOST) -> Metric:
    return Metric(From.TASK, about, unit, high)


def _verdict(about: str, unit: str = "", high: float = _MOST) -> Metric:
    return Metric(From.VERDICT, about, unit, high)


def _profile(about: str, unit: str, high: float, *backends: str) -> Metric:
    return Metric(From.PROFILE, about, unit, high, backends)


def _source(about: str, *backends: str) -> Metric:
    return Metric(From.SOURCE, about, "", 1e4, backends)


CATALOGUE: dict[str, Metric] = {
    # The task: distinct operators by kind, and its size.
    "operators": _task("distinct operators of the reference", high=1e4),
    "contractions": _task("matrix products and convolutions among them", high=1e4),
    "reductions": _task("sums, maxima, norms and softmaxes among them", high=1e4),
    "windows": _task("pools, resizes and convolutions among them", high=1e4),
    "scans": _task("running sums and products among them", high=1e4),
    "gathers": _task("gathers, scatters, embeddings and sorts among them", high=1e4),
    "megabytes": _task("inputs, parameters and outputs, each once", "MB"),
    "flops_per_byte": _task("arithmetic of the contractions over these bytes", "flop/B", 1e6),
    # The verdict.
    "over_eager": _verdict("eager's latency over the candidate's", "x", 1e6),
    "microseconds": _verdict("the candidate's latency", "us"),
    "gigabytes_per_second": _verdict("megabytes over latency, a thread", "GB/s", 1e6),
    "gigaflops": _verdict("arithmetic of the contractions over latency, a thread", "GFLOP/s", 1e6),
    "memory_share": _verdict("the memory floor over latency", high=1.0),
    "arithmetic_share": _verdict("the arithmetic floor over latency", high=1e3),
    # Its profile.
    "kernel_share": _profile("processor time in the candidate's own library", "", 1.0, CPP),
    "foreign_share": _profile("processor time in somebody else's code", "", 1.0, CPP),
    "dram_percent": _profile("of the device memory's bandwidth", "%", 100.0, *_GPU),
    "l2_percent": _profile("of the second cache's bandwidth", "%", 100.0, *_GPU),
    "sm_percent": _profile("of the multiprocessors' issue slots", "%", 100.0, *_GPU),
    "tensor_percent": _profile("of the tensor cores' cycles", "%", 100.0, *_GPU),
    "occupancy_percent": _profile("warps there are, of those that fit", "%", 100.0, *_GPU),
    "registers": _profile("registers a thread", "", 256.0, *_GPU),
    "shared_kilobytes": _profile("shared memory a block", "KiB", 256.0, *_GPU),
    "spilled_bytes": _profile("bytes of registers spilled, a thread", "B", 1e6, *_GPU),
    "hottest_share": _profile("the hottest kernel's share of the device time", "", 1.0, *_GPU),
    "kernel_launches": _profile("kernels launched a call", "", 1e4, *_GPU),
    "mxu_percent": _profile("of the matrix units' cycles", "%", 100.0, PALLAS),
    "vector_percent": _profile("of the vector units' cycles", "%", 100.0, PALLAS),
    "transpose_percent": _profile("of the cross-lane units' cycles", "%", 100.0, PALLAS),
    "load_percent": _profile("of the vector load slots", "%", 100.0, PALLAS),
    "store_percent": _profile("of the vector store slots", "%", 100.0, PALLAS),
    "hbm_percent": _profile("of the high-bandwidth memory's rate", "%", 100.0, PALLAS),
    "spills": _profile("vector registers spilled", "", 1e6, PALLAS),
    # The source of the hottest kernel and of what it calls.
    "kernels": _source("functions that are entered from outside"),
    "launches": _source("places where model.py or the host code starts one"),
    "loops": _source("loops"),
    "loop_depth": _source("loops inside of each other"),
    "passes": _source("innermost loops: how often data is walked over"),
    "parallel_loops": _source("loops or regions shared among threads", CPP),
    "vectors": _source("`simd` loops, uses of vector types, intrinsics", CPP),
    "math_calls": _source("calls of exp, tanh, erf, pow... whoever wrote them", *_C_LIKE),
    "library_math": _source("of them, those of the standard library", *_C_LIKE),
    "divisions": _source("divisions", *_C_LIKE),
    "doubles": _source("mentions of double", *_C_LIKE),
    "buffers": _source("allocations of memory for intermediate values", *_C_LIKE),
    "specialisations": _source("instantiations for sizes known in advance", *_C_LIKE),
    "prefetches": _source("explicit prefetches", *_C_LIKE),
    "barriers": _source("synchronisations of a block or warp", CUDA),
    "shared_arrays": _source("arrays in shared memory", CUDA),
    "shuffles": _source("warp shuffles and warp reductions", CUDA),
    "wide_loads": _source("accesses of several elements at once (float4...)", CUDA),
    "tensor_operations": _source("uses of the tensor cores", CUDA),
    "async_copies": _source("copies that run beside the arithmetic", CUDA, PALLAS),
    "unrolls": _source("unrolled loops", CUDA),
    "atomics": _source("atomic operations", *_GPU),
    "dots": _source("matrix products inside of the kernel", *_PYTHON),
    "loads": _source("loads", *_PYTHON),
    "stores": _source("stores", *_PYTHON),
    "masks": _source("loads and stores with a mask", TRITON),
    "autotuned": _source("kernels whose configuration is searched", TRITON),
    "warps": _source("the largest num_warps that is named", TRITON),
    "pipeline_stages": _source("the largest num_stages that is named", TRITON),
    "block_specs": _source("block specifications", PALLAS),
    "scratch_buffers": _source("scratch buffers that live through the grid", PALLAS),
}  # fmt: skip


def of_backend(backend: str) -> dict[str, Metric]:
    return {
        name: metric
        for name, metric in CATALOGUE.items()
        if not metric.backends or backend in metric.backends
    }


def written(name: str, value: float | None) -> str:
    """A metric as evidence shows it."""
    if value is None:
        return f"{name} is missing"
    unit = CATALOGUE[name].unit
    return f"{name} = {value:.4g}{' ' if unit and unit != '%' else ''}{unit}"
