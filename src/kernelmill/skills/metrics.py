"""The metrics of kernels that rules and predictions refer to.

A metric is read from the task, the verdict, its profile, or the source of the hottest kernel.
Metrics of the profile are missing where there is no profile; rules must cover that case.
"""

import enum
from collections.abc import Mapping
from typing import NamedTuple

from kernelmill.records.target import backend_name

Metrics = Mapping[str, float | None]
"""Values of all metrics of one backend, by name; None where one is missing."""
CPP, CUDA, TRITON, PALLAS = "cpp", "cuda", "triton", "pallas"
_GPU = (TRITON, CUDA)
_C_LIKE = (CPP, CUDA)
_PYTHON = (TRITON, PALLAS)
_MOST = 1e9


class MetricSource(enum.StrEnum):
    """What a metric is read from."""

    TASK = "task"
    VERDICT = "verdict"
    PROFILE = "profile"
    SOURCE = "source"


class Metric(NamedTuple):
    read_from: MetricSource
    about: str
    """What it is, in a few words for the documentation."""
    unit: str = ""
    high: float = _MOST
    """The largest value; the smallest is 0."""
    backends: tuple[str, ...] = ()
    """Names of the backends that have it; empty for all."""

    @property
    def may_be_missing(self) -> bool:
        return self.read_from is MetricSource.PROFILE


def _task(about: str, unit: str = "", high: float = _MOST) -> Metric:
    return Metric(MetricSource.TASK, about, unit, high)


def _verdict(about: str, unit: str = "", high: float = _MOST) -> Metric:
    return Metric(MetricSource.VERDICT, about, unit, high)


def _profile(about: str, unit: str, high: float, *backends: str) -> Metric:
    return Metric(MetricSource.PROFILE, about, unit, high, backends)


def _source(about: str, *backends: str) -> Metric:
    return Metric(MetricSource.SOURCE, about, "", 1e4, backends)


METRICS: dict[str, Metric] = {
    # The task: distinct operators by kind, and its size.
    "operators": _task("distinct operators of the reference", high=1e4),
    "contractions": _task("matrix products and convolutions among the operators", high=1e4),
    "reductions": _task("sums, maxima, norms and softmaxes among the operators", high=1e4),
    "windows": _task("pools, resizes and convolutions among the operators", high=1e4),
    "scans": _task("cumulative sums and products among the operators", high=1e4),
    "gathers": _task("gathers, scatters, embeddings and sorts among the operators", high=1e4),
    "megabytes": _task("size of inputs, parameters and outputs", "MB"),
    "flops_per_byte": _task("arithmetic of the contractions over this size", "flop/B", 1e6),
    # The verdict.
    "over_baseline": _verdict("the baseline's latency over the candidate's", "x", 1e6),
    "microseconds": _verdict("the candidate's latency", "us"),
    "gigabytes_per_second": _verdict("megabytes over latency, per thread", "GB/s", 1e6),
    "gigaflops": _verdict("contractions' arithmetic over latency, per thread", "GFLOP/s", 1e6),
    "memory_share": _verdict("the memory floor over latency", high=1.0),
    "arithmetic_share": _verdict("the arithmetic floor over latency", high=1e3),
    # Its profile.
    "kernel_share": _profile("processor time in the candidate's own library", "", 1.0, CPP),
    "foreign_share": _profile("processor time in native code of others", "", 1.0, CPP),
    "dram_percent": _profile("share of the device memory's bandwidth", "%", 100.0, *_GPU),
    "arithmetic_percent": _profile("the task's arithmetic over the peak", "%", 100.0, *_GPU),
    "busy_percent": _profile("share of the time in which the device computes", "%", 100.0, *_GPU),
    "occupancy_percent": _profile("resident warps, of those that fit", "%", 100.0, *_GPU),
    "registers": _profile("registers per thread", "", 256.0, *_GPU),
    "shared_kilobytes": _profile("shared memory per block", "KiB", 256.0, *_GPU),
    "spilled_bytes": _profile("bytes of registers spilled per thread", "B", 1e6, *_GPU),
    "hottest_share": _profile("the hottest kernel's share of the device time", "", 1.0, *_GPU),
    "kernel_launches": _profile("kernels launched per call", "", 1e4, *_GPU),
    "mxu_percent": _profile("share of the matrix units' cycles", "%", 100.0, PALLAS),
    "vector_percent": _profile("share of the vector units' cycles", "%", 100.0, PALLAS),
    "transpose_percent": _profile("share of the cross-lane units' cycles", "%", 100.0, PALLAS),
    "load_percent": _profile("share of the vector load slots", "%", 100.0, PALLAS),
    "store_percent": _profile("share of the vector store slots", "%", 100.0, PALLAS),
    "hbm_percent": _profile("share of the high-bandwidth memory's bandwidth", "%", 100.0, PALLAS),
    "spill_percent": _profile("share of the slots that spill registers", "%", 100.0, PALLAS),
    # The source of the hottest kernel and of what it calls.
    "kernels": _source("kernel entry points"),
    "launches": _source("places in model.py or the host code that launch a kernel"),
    "loops": _source("loops"),
    "loop_depth": _source("depth of the deepest loop nest"),
    "passes": _source("innermost loops: passes over the data"),
    "parallel_loops": _source("parallel loops or regions", CPP),
    "vectors": _source("`simd` loops, uses of vector types, intrinsics", CPP),
    "math_calls": _source("calls of exp, tanh, erf, pow... (library's or own)", *_C_LIKE),
    "library_math": _source("calls of the standard library's exp, tanh, erf, pow...", *_C_LIKE),
    "divisions": _source("divisions", *_C_LIKE),
    "doubles": _source("uses of double", *_C_LIKE),
    "buffers": _source("allocations for intermediate values", *_C_LIKE),
    "specialisations": _source("template instantiations for fixed sizes", *_C_LIKE),
    "prefetches": _source("explicit prefetches", *_C_LIKE),
    "barriers": _source("synchronisations of a block or warp", CUDA),
    "shared_arrays": _source("arrays in shared memory", CUDA),
    "shuffles": _source("warp shuffles and warp reductions", CUDA),
    "wide_loads": _source("accesses of several elements at once (float4...)", CUDA),
    "tensor_operations": _source("uses of the tensor cores", CUDA),
    "async_copies": _source("asynchronous copies", CUDA, PALLAS),
    "unrolls": _source("unrolled loops", CUDA),
    "atomics": _source("atomic operations", *_GPU),
    "dots": _source("matrix products in the kernel", *_PYTHON),
    "loads": _source("loads", *_PYTHON),
    "stores": _source("stores", *_PYTHON),
    "masks": _source("loads and stores with a mask", TRITON),
    "slow_math": _source("calls of exp, log, tanh, erf, pow: not exp2, log2 or sigmoid", TRITON),
    "autotuned": _source("autotuned kernels", TRITON),
    "warps": _source("the largest num_warps in the source", TRITON),
    "pipeline_stages": _source("the largest num_stages in the source", TRITON),
    "block_specs": _source("block specifications", PALLAS),
    "scratch_buffers": _source("scratch buffers that persist over the grid", PALLAS),
}  # fmt: skip


def backend_metrics(target: str) -> dict[str, Metric]:
    """The metrics that a target's backend has, by name."""
    backend = backend_name(target)
    return {
        name: metric
        for name, metric in METRICS.items()
        if not metric.backends or backend in metric.backends
    }


def format_metric(name: str, value: float | None) -> str:
    """A metric and its value, as evidence quotes it."""
    if value is None:
        return f"{name} is missing"
    unit = METRICS[name].unit
    return f"{name} = {value:.4g}{' ' if unit and unit != '%' else ''}{unit}"
