"""Numerics: what a reference may round, a kernel may round too, and no more."""

import msgspec
import pytest
import torch

from kernelmill.api import verify
from kernelmill.judge.devices.cuda.case_cache import CaseCache, DrawnCase
from kernelmill.judge.devices.cuda.compare import compare_tensors
from kernelmill.judge.devices.cuda.protocol import CaseRequest
from kernelmill.records.errors import UsageError
from kernelmill.records.numerics import Numerics, choose_numerics
from kernelmill.tasks.arithmetic import arithmetic
from kernelmill.tasks.describe import describe_module
from kernelmill.tasks.module import TaskModule
from samples import make_task

LINEAR = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(192, 96)

    def forward(self, x):
        return self.linear(x)

def get_inputs():
    return [torch.randn(128, 192)]

def get_init_inputs():
    return []
"""


def drawn(numerics: Numerics) -> DrawnCase:
    """A case of a process that computes with these numerics, as the examiner's does."""
    cases = CaseCache(TaskModule(LINEAR, "cpu"), 1 << 30, numerics)
    return cases.get(CaseRequest({}, "plain", 1, 8.0, ("linear",)))


def error_with(case: DrawnCase, rounded_to: torch.dtype, result: torch.dtype) -> float:
    """Of a kernel that rounds its operands, as a share of the budget."""
    x, weight, bias = (
        tensor.to(rounded_to).double() if tensor.dim() > 1 else tensor.double()
        for tensor in case.given
    )
    output = (x @ weight.T + bias).to(result)
    return compare_tensors(output, case.expected[0]).error


@pytest.mark.parametrize(
    ("numerics", "accepted", "refused"),
    [
        (Numerics.IEEE, [torch.float32], [torch.float16, torch.bfloat16]),
        (Numerics.HALF, [torch.float32, torch.float16], [torch.bfloat16]),
    ],
)
def test_a_kernel_may_round_as_the_reference_does(
    numerics: Numerics, accepted: list[torch.dtype], refused: list[torch.dtype]
) -> None:
    """A processor has autocast, as a GPU has, and no TF32."""
    with torch.no_grad(), arithmetic(numerics, "cpu", afterwards=Numerics.IEEE):
        case = drawn(numerics)
        assert torch.is_autocast_enabled("cpu") is (numerics is Numerics.HALF)
        result = case.expected[0].eager.dtype
        assert result is (torch.float16 if numerics is Numerics.HALF else torch.float32)
        assert all(error_with(case, dtype, result) <= 1 for dtype in accepted)
        assert all(error_with(case, dtype, result) > 1 for dtype in refused)


@pytest.mark.parametrize(
    ("numerics", "rounded", "dtype"),
    [(Numerics.IEEE, False, "float32"), (Numerics.HALF, True, "float16")],
)
def test_a_task_says_whether_its_reference_rounds(
    numerics: Numerics, rounded: bool, dtype: str
) -> None:
    request = {
        "id": "linear", "family": "", "path": "", "scale": "cpu", "device": "cpu",
        "numerics": numerics,
    }  # fmt: skip
    with torch.no_grad():
        task = describe_module(TaskModule(LINEAR, "cpu"), request)
    assert task.is_rounded is rounded
    assert [spec.dtype for spec in task.outputs] == [dtype]
    assert not torch.is_autocast_enabled("cpu")


def test_numerics_are_part_of_what_a_task_is() -> None:
    digests = {msgspec.structs.replace(make_task(), numerics=one).digest for one in Numerics}
    assert len(digests) == len(Numerics)
    assert make_task().numerics is Numerics.IEEE


def test_the_first_numerics_of_a_device_are_its_default() -> None:
    known = (Numerics.FRAMEWORK, Numerics.IEEE)
    assert choose_numerics(None, known, "gpu") is Numerics.FRAMEWORK
    assert choose_numerics("ieee", known, "gpu") is Numerics.IEEE
    with pytest.raises(UsageError, match=r"no numerics 'exact' .* framework, ieee"):
        choose_numerics("exact", known, "gpu")


def test_a_processor_has_no_tf32() -> None:
    with pytest.raises(UsageError, match="no numerics 'tf32' on a device of kind cpu: ieee"):
        verify("starter/softmax", {"model.py": "", "kernel.cpp": ""}, numerics="tf32")
