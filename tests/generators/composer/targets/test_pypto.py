"""Candidates in PyPTO: their text keeps the rules of the backend; what PyPTO lacks is named."""

import ast

import pytest

from kernelmill.backends.modelled import BaselineMissing, OperatorsLacking
from kernelmill.backends.pypto.backend import PyptoBackend
from kernelmill.backends.pypto.kernels import check_kernels, find_kernels
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.targets.pypto.baseline import write_plain
from kernelmill.generators.composer.targets.pypto.held import Held, group_axes
from kernelmill.generators.composer.targets.pypto.writer import Writer
from kernelmill.judge import Judge
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite

ROWS, COLUMNS, ONE = Extent("s0", 6), Extent("s1", 4), Extent("1", 1)


@pytest.fixture(scope="module")
def tasks(judge: Judge) -> dict[str, Task]:
    names = (
        "starter/softmax", "starter/causal_attention", "starter/max_pool2d",
        "attention/sink_attention", "fused/linear_log_softmax_pick",
        "attention/document_mask_attention", "attention/causal_attention",
    )  # fmt: skip
    return {name: judge.describe(load_suite(name)[0], PyptoBackend.scale) for name in names}


@pytest.mark.parametrize(
    "name",
    [
        "starter/softmax", "starter/causal_attention",
        "attention/sink_attention",  # a root of a size, computed on the host
        "fused/linear_log_softmax_pick",  # fewer places than rows to choose from
    ],
)  # fmt: skip
def test_a_plain_form_keeps_the_rules(tasks: dict[str, Task], name: str) -> None:
    forms = list(write_plain(tasks[name]))
    assert len({form["model.py"] for form in forms}) == len(forms) > 1
    for form in forms:
        assert not check_kernels(form["model.py"], "model.py")
        candidate = Candidate(form, Origin.COMPOSER, "plain form")
        assert not PyptoBackend().inspect_sources(candidate)


def test_one_operator_is_one_kernel(tasks: dict[str, Task]) -> None:
    form = next(write_plain(tasks["starter/softmax"]))
    assert [kernel.name for kernel in find_kernels(form["model.py"])] == ["kernel_0_softmax"]


def test_conditions_are_joined_as_the_reference_says(tasks: dict[str, Task]) -> None:
    form = next(write_plain(tasks["attention/document_mask_attention"]))
    (kernel,) = (k for k in find_kernels(form["model.py"]) if k.name.endswith("bitwise_and"))
    assert ast.unparse(kernel.body[-1]) == "y[:] = pypto.logical_and(x0, x1)"


def test_a_condition_that_always_holds_is_left_out(tasks: dict[str, Task]) -> None:
    form = next(write_plain(tasks["attention/causal_attention"]))
    assert "logical_and(x0, True)" not in form["model.py"]


def test_what_the_language_lacks_is_named_before_anything_is_asked(tasks: dict[str, Task]) -> None:
    with pytest.raises(OperatorsLacking, match="pooling windows"):
        next(write_plain(tasks["starter/max_pool2d"]))
    assert PyptoBackend().lacks(tasks["starter/max_pool2d"]) == "pooling windows"
    assert PyptoBackend().lacks(tasks["starter/softmax"]) == ""
    assert issubclass(OperatorsLacking, BaselineMissing)


def test_axes_are_grouped_as_operands_share_them() -> None:
    shape = (ROWS, COLUMNS, Extent("s2", 5))
    groups = group_axes([shape, (ONE, COLUMNS, Extent("s2", 5))], shape)
    assert [group.axes for group in groups] == [(0,), (1, 2)]


def test_an_operand_that_lacks_two_axes_is_repeated_along_one_first() -> None:
    writer = Writer(1024)
    whole = Held.stored("x0", (ROWS, COLUMNS, Extent("s2", 5)), "float32")
    middle = Held.stored("w0", (ONE, COLUMNS, ONE), "float32")
    writer.pointwise("add", "{0} + {1}", [whole, middle], whole.shape, "float32")
    (text,) = writer.kernels
    assert "r1 = pypto.expand_clone(x1, [1, n1, n2])" in text
    assert "y[:] = x0 + r1" in text


def test_an_operand_is_repeated_along_an_axis_that_no_operand_has() -> None:
    writer = Writer(1024)
    key = Held.stored("x0", (ROWS, ONE), "float32")
    zeros = Held.of_number("0.0", "float32", (ROWS, COLUMNS))
    writer.pointwise("mul", "{0} * {1}", [key, zeros], (ROWS, COLUMNS), "float32")
    (text,) = writer.kernels
    assert "r0 = pypto.expand_clone(x0, [n0, n1])" in text
    assert "y[:] = r0 * 0.0" in text


def test_a_turned_tensor_is_made_of_exchanges_of_neighbours() -> None:
    writer = Writer(1024)
    sizes = (ROWS, COLUMNS, Extent("s2", 5))
    turned = Held("x0", sizes, "float32", (sizes[2], sizes[0], sizes[1]), (2, 0, 1))
    found = writer.contiguous(turned)
    assert found.shape == found.memory == turned.shape
    calls = [line for line in writer.lines if "swap" in line]
    assert calls == [
        "kernel_0_swap(x0.view(1, s0 * s1, s2), h0.view(1, s2, s0 * s1), *tile((1, s0 * s1, s2), 1024))"
    ]
