"""What the meter counts, against what can be counted by hand."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from kernelmill.backends import get_backend
from kernelmill.backends.modelled import Estimate, ModelledBackend, Session
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import TensorSpec
from kernelmill.records.tensors import Node, lay_out
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob

COUNT = 1024
BYTES_OF_A_REGISTER = 32
OUTPUTS = [TensorSpec("float32", (COUNT,))]

FRAME = """
#include <riscv_vector.h>

#include "kernelmill.h"

extern "C" void model_new(const Tensor* inputs, const Tensor*, Tensor* outputs) {
    const float* x = static_cast<const float*>(inputs[0].data);
    float* y = static_cast<float*>(outputs[0].data);
    const size_t count = inputs[0].sizes[0];
    BODY
}
"""
COPY = """
    for (size_t vl, i = 0; i < count; i += vl) {
        vl = __riscv_vsetvl_e32mL(count - i);
        __riscv_vse32(y + i, __riscv_vle32_v_f32mL(x + i, vl), vl);
    }
"""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """Without the framework: nobody needs a reference here."""
    with Zygote(get_backend("rvv").zygote_modules, threads=1) as zygote:
        yield zygote


@contextmanager
def session(zygote: Zygote, body: str) -> Iterator[Session]:
    backend = get_backend("rvv")
    assert isinstance(backend, ModelledBackend)
    kernel = Candidate({"kernel.cpp": FRAME.replace("BODY", body)}, Origin.FILE)
    built = backend.build(kernel, zygote)
    init = InitArguments(Node(), Blob.create(lay_out([])))
    with backend.open(kernel, built, init, zygote) as opened:
        yield opened


def arguments() -> CallArguments:
    blob = Blob.create(lay_out([("float32", (COUNT,))]))
    blob.array(0)[...] = np.arange(COUNT)
    return CallArguments(blob, Node(items=(Node(tensor=0),)), {})


def cycles(estimate: Estimate, kind: str) -> int:
    return round(estimate.units.get(kind, 0) * estimate.cycles)


@pytest.mark.parametrize("group", [1, 2, 4, 8])
def test_a_vector_costs_its_registers_whatever_their_grouping(zygote: Zygote, group: int) -> None:
    with session(zygote, COPY.replace("mL", f"m{group}")) as copying:
        (copied,) = copying.execute(arguments(), OUTPUTS, 60)
        estimate = copying.estimate(arguments(), OUTPUTS, 60)
    assert np.array_equal(copied, np.arange(COUNT))
    registers = COUNT * 4 // BYTES_OF_A_REGISTER
    assert cycles(estimate, "vector loads") == registers
    assert cycles(estimate, "vector stores") == registers
    assert cycles(estimate, "vector configuration") == registers // group
    assert COUNT * 8 <= estimate.bytes < COUNT * 8 + 200


def test_strided_elements_are_counted_one_by_one(zygote: Zygote) -> None:
    strided = COPY.replace("vle32_v_f32mL(x + i,", "vlse32_v_f32mL(x, 0,").replace("mL", "m4")
    with session(zygote, strided) as reading:
        estimate = reading.estimate(arguments(), OUTPUTS, 60)
    assert cycles(estimate, "strided and indexed") == COUNT


def test_counts_are_the_same_over_and_over(zygote: Zygote) -> None:
    body = COPY.replace("mL", "m4") + "delete[] new float[COUNT];".replace("COUNT", "1 << 20")
    with session(zygote, body) as copying:
        first = copying.estimate(arguments(), OUTPUTS, 60)
        assert all(copying.estimate(arguments(), OUTPUTS, 60) == first for _ in range(19))
    with session(zygote, body) as again:
        assert again.estimate(arguments(), OUTPUTS, 60) == first
