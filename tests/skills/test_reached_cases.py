"""Every case of every policy is reached from a verdict, as the judge and its devices write it."""

from collections.abc import Iterator
from itertools import product

import msgspec
import pytest

from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.tensors import Node
from kernelmill.records.verdict import (
    DeviceDiagnosis,
    Interval,
    KernelUse,
    Latency,
    Modelled,
    Profile,
    Verdict,
)
from kernelmill.skills.metric_reading import read_metrics
from kernelmill.skills.rule_matching import match_rules
from samples import make_task, make_verdict
from skills.cases import LIBRARY
from skills.helpers import PARALLEL, SERIAL, VECTORS

MATRIX = TensorSpec("float32", (1024, 1024))
MEGAFLOP = 1e6
TASKS = {
    "streaming": (("relu.default",), 0),
    "reduction": (("sum.dim_IntList",), 0),
    "window": (("max_pool2d_with_indices.default",), 0),
    "small product": (("mm.default",), 1 * MEGAFLOP),
    "large product": (("mm.default",), 2000 * MEGAFLOP),
    "arithmetic elsewhere": (("relu.default",), 2000 * MEGAFLOP),
    "gather": (("gather.default",), 0),
}


def tasks() -> Iterator[Task]:
    for name, (signature, flops) in TASKS.items():
        yield msgspec.structs.replace(
            make_task(f"suite/{name}"),
            variants=(Variant({}, Node(items=(Node(tensor=0),)), (MATRIX,), False),),
            outputs=(MATRIX,),
            signature=signature,
            flops=int(flops),
        )


def timed(backend: str, milliseconds: float, floor_ms: float = 0.001) -> Verdict:
    latency = Latency(
        milliseconds, milliseconds, None, Interval.exactly(1.0), None, floor_ms, 0.001, 5, 1
    )
    return msgspec.structs.replace(make_verdict(1.0), backend=backend, latency=latency)


def on_cpu() -> Iterator[Verdict]:
    for milliseconds, foreign in product((0.01, 0.2, 0.6, 5.0, 50.0), (0.0, 0.5)):
        yield msgspec.structs.replace(
            timed("cpp", milliseconds), profile=Profile(100, 1 - foreign, foreign, 0.1)
        )


def on_gpu(backend: str) -> Iterator[Verdict]:
    yield timed(backend, 1.0)
    shares = (0.05, 0.7, 0.9)
    for milliseconds, launches, busy, bandwidth, arithmetic, spills, occupancy in product(
        (0.005, 0.05, 1.0), (1, 4), (0.2, 0.95), shares, shares, (0, 16), (0.2, 0.9)
    ):
        kernel = KernelUse("kernel", launches, 900.0, 100, 128, 64, 4096, spills, occupancy)
        yield msgspec.structs.replace(
            timed(backend, milliseconds),
            diagnosis=DeviceDiagnosis((kernel,), busy, bandwidth, arithmetic),
        )


def on_tpu() -> Iterator[Verdict]:
    yield timed("pallas", 1.0)
    shares = (0.05, 0.6)
    for mxu, valu, xlu, load, spill, moved in product(
        shares, shares, shares, shares, (0, 0.1), (1, 9)
    ):
        units = {"MXU": mxu, "VALU": valu, "XLU": xlu, "VLOAD": load, "VSTORE:SPILL": spill}
        once = 2 * 4 * 1024 * 1024
        yield msgspec.structs.replace(
            timed("pallas", 1.0, floor_ms=0.1),
            modelled=Modelled("model", 1e6, "XLA", 1e6, once * moved, units, ()),
        )


VERDICTS = {
    "cpp": on_cpu,
    "triton": lambda: on_gpu("triton"),
    "cuda": lambda: on_gpu("cuda"),
    "pallas": on_tpu,
}
SOURCES = {
    "cpp": [{"model.py": "", "kernel.cpp": text} for text in (SERIAL, PARALLEL, VECTORS)],
    "triton": [{"model.py": "import triton\n"}],
    "cuda": [{"model.py": "", "kernel.cu": "__global__ void kernel() {}"}],
    "pallas": [{"model.py": "import jax\n"}],
}


@pytest.mark.parametrize("backend", VERDICTS)
def test_every_case_is_reached_from_a_verdict(backend: str) -> None:
    table = LIBRARY.table(backend)
    reached = set()
    for files, verdict, task in product(SOURCES[backend], VERDICTS[backend](), tasks()):
        metrics = read_metrics(task, Candidate(files, Origin.MODEL), verdict)
        assert metrics is not None
        case = match_rules(table, metrics).case
        assert case is not None, "the rules have an answer to every verdict"
        reached.add(case.name)
    assert reached == {case.name for case in table.cases}
