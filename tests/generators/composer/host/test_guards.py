"""Composed candidates as drop-in replacements: state like the reference's, wrong calls refused."""

import importlib.util
import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from kernelmill.backends.support.python_rules import PythonRules
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.cpp.decisions import CATALOGUE
from kernelmill.generators.composer.targets.cpp.program import CppProgram
from kernelmill.generators.composer.tracing.constructor import constructor_source
from kernelmill.generators.composer.tracing.trace import trace_model, trace_task
from kernelmill.records.task import Task, Variant, tensor_specs
from kernelmill.tasks import load_suite
from kernelmill.tasks.module import TaskModule, tensors_in, to_float64
from kernelmill.tensors.torch_side import describe_value

pytestmark = pytest.mark.compiler
_COMPILE = "g++ -std=c++20 -O0 -march=native -fopenmp -shared -fPIC".split()
_EVERY = os.environ.get("KERNELMILL_SUITES") == "all"
_STARTER = [
    task.id.partition("/")[2]
    for task in load_suite("starter")
    if _EVERY or task.id in ("starter/layer_norm", "starter/matmul")
]
_TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32)


class Composed(NamedTuple):
    task: TaskModule
    module: ModuleType

    def model(self, seed: int) -> nn.Module:
        torch.manual_seed(seed)
        arguments = self.task.init_arguments()
        torch.manual_seed(seed)
        model: nn.Module = self.module.ModelNew(*arguments)
        return model


def load(files: dict[str, str], folder: Path) -> ModuleType:
    for name, text in files.items():
        (folder / name).write_text(text)
    assert not PythonRules().check(files["model.py"], "model.py")
    library, source = str(folder / "kernel.so"), str(folder / "kernel.cpp")
    subprocess.run([*_COMPILE, "-o", library, source], check=True)
    spec = importlib.util.spec_from_file_location("candidate", folder / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def describe(source: str, model: nn.Module, inputs: list[Any]) -> Task:
    state = {name: tensor_specs([tensor])[0] for name, tensor in model.state_dict().items()}
    shown = Variant({}, describe_value(inputs, []), (), False)
    buffers = tuple(name for name, _ in model.named_buffers())
    return Task("t", "", "", source, "cpu", (shown,), (), (), state, (), 0, buffers=buffers)


def compose(source: str, folder: Path) -> Composed:
    with torch.no_grad():
        task = TaskModule(source, "cpu")
        described = describe(source, task.model(0), task.inputs(0))
        plan = Plan({"specialise": False}, CATALOGUE)
        files = CppProgram(trace_task(source, "cpu"), plan).files(described)
    return Composed(task, load(files, folder))


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Composed]:
    @cache
    def composed(name: str) -> Composed:
        return compose(load_suite(f"starter/{name}")[0].source, tmp_path_factory.mktemp(name))

    return composed


_Change = Callable[[torch.Tensor], torch.Tensor]


def _cast(dtype: torch.dtype) -> _Change:
    return lambda tensor: tensor.to(dtype)


def _resized(axis: int, size: int) -> _Change:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        shape = list(tensor.shape)
        shape[axis % len(shape)] = size
        return torch.ones(shape, dtype=tensor.dtype)

    return change


CHANGES = st.one_of(
    st.sampled_from(_TYPES).map(_cast),
    st.tuples(st.integers(0, 3), st.integers(1, 7)).map(lambda change: _resized(*change)),
    st.sampled_from(
        (
            lambda tensor: tensor.unsqueeze(0),
            lambda tensor: tensor[0],
            lambda tensor: tensor.flatten(),
            lambda tensor: tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor,
            lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
            lambda tensor: tensor[:1].expand_as(tensor),
            lambda tensor: tensor.to("meta"),
        )
    ),
)


def _outcome(model: nn.Module, inputs: list[Any]) -> list[torch.Tensor] | Exception:
    try:
        with torch.no_grad():
            return tensors_in(model(*inputs))
    except Exception as error:  # whatever a framework raises at a wrong call
        return error


def _inputs(task: TaskModule, sizes: st.DataObject) -> list[Any]:
    """Inputs of a small size; all indices are 0, which is in range whatever sizes become."""
    names = {name: sizes.draw(st.integers(1, 6), name) for name in task.free_constants()}
    with task.sized(names):
        inputs = task.inputs(1)
    return [t if t.is_floating_point() else torch.zeros_like(t) for t in inputs]


@pytest.mark.parametrize("name", _STARTER)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_wrong_call_never_gives_a_wrong_answer(
    starter: Callable[[str], Composed], name: str, data: st.DataObject
) -> None:
    composed = starter(name)
    reference, candidate = composed.task.model(3), composed.model(3)
    inputs = _inputs(composed.task, data)
    number = data.draw(st.integers(0, len(inputs) - 1), "input")
    inputs[number] = data.draw(CHANGES, "change")(inputs[number])
    got = _outcome(candidate, inputs)
    if isinstance(got, Exception):
        return
    wanted = _outcome(to_float64(reference), to_float64(inputs))
    assert not isinstance(wanted, Exception), wanted
    for ours, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-4, atol=1e-4)


def test_a_right_call_is_answered(starter: Callable[[str], Composed]) -> None:
    """In whatever order its elements are in memory."""
    composed = starter("matmul")
    inputs = [torch.randn(5, 4), torch.randn(3, 4).T]
    got = composed.model(0)(*inputs)
    torch.testing.assert_close(got, inputs[0] @ inputs[1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([torch.randn(5, 4).double(), torch.randn(4, 3)], "input 0 is torch.float64"),
        ([torch.randn(5, 4), torch.randn(4)], "input 1 is .* takes float32 of 2 dimensions"),
        ([torch.randn(5, 4), torch.randn(6, 3)], r"input 1 is .*\[6, 3\].* takes .*\[4, 3\]"),
        ([torch.empty(5, 4, device="meta"), torch.randn(4, 3)], "on meta.* on the CPU"),
    ],
)
def test_a_refusal_names_what_was_given_and_what_is_wanted(
    starter: Callable[[str], Composed], wrong: list[Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        starter("matmul").model(0)(*wrong)


def test_it_has_the_parameters_of_the_reference(starter: Callable[[str], Composed]) -> None:
    composed = starter("layer_norm")
    wanted = composed.task.model(11).state_dict()
    found = composed.model(11).state_dict()
    assert list(found) == list(wanted)
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_parameters_are_looked_up_at_each_call(starter: Callable[[str], Composed]) -> None:
    composed = starter("layer_norm")
    reference, candidate = composed.task.model(1), composed.model(1)
    x = composed.task.inputs(1)[0][:5]
    for _ in range(2):
        state = {name: torch.randn_like(t) for name, t in reference.state_dict().items()}
        reference.load_state_dict(state)
        candidate.load_state_dict({name: t.clone() for name, t in state.items()}, assign=True)
        torch.testing.assert_close(candidate(x), reference(x), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"norm\.weight is torch.float64"):
        candidate.double()(x)
    torch.testing.assert_close(candidate.float()(x), reference(x), rtol=1e-4, atol=1e-4)


class Scaled(nn.Module):
    def forward(self, parts: list[torch.Tensor], factor: int, mode: str) -> torch.Tensor:
        x = torch.nn.functional.pad(parts[0], (3, 3), mode="reflect")
        x = x.view(x.shape[0], 4, -1).sum(1) if mode == "sum" else x
        return x[:, :2] * factor + parts[1]


def test_what_was_fixed_while_tracing_is_checked(tmp_path: Path) -> None:
    inputs = [[torch.randn(3, 10), torch.randn(3, 2)], 3, "sum"]
    with torch.no_grad():
        files = CppProgram(
            trace_model(Scaled(), inputs), Plan({"specialise": False}, CATALOGUE)
        ).files(describe("", Scaled(), inputs))
    candidate = load(files, tmp_path).ModelNew()
    torch.testing.assert_close(candidate(*inputs), Scaled()(*inputs))
    wider = [[torch.randn(2, 14), torch.randn(2, 2)], 3, "sum"]
    torch.testing.assert_close(candidate(*wider), Scaled()(*wider))
    for wrong, message in (
        ([inputs[0], 4, "sum"], "input 1 is 4; this kernel was made for 3"),
        ([inputs[0], 3, "mean"], "input 2 is 'mean'"),
        ([[*inputs[0], inputs[0][0]], 3, "sum"], "input 0 has 3 items"),
        ([[torch.randn(3, 11), inputs[0][1]], 3, "sum"], "this kernel needs"),
        ([[torch.randn(3, 2), inputs[0][1]], 3, "sum"], "this kernel needs"),
    ):
        with pytest.raises(ValueError, match=message):
            candidate(*wrong)


SOURCE = '''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 8
unused = torch.randn(3)
def _spread(n: int) -> float:
    """Unused words."""
    return 1 / math.sqrt(n)

class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super(Block, self).__init__()
        self.scale = nn.Parameter(torch.rand(width) * _spread(width))
        self._reset()

    def _reset(self) -> None:
        nn.init.uniform_(self.scale, -1, 1)

    def forward(self, x):
        return F.relu(x) * self.scale

class Model(nn.Module):
    def __init__(self, count: int, width: int = WIDTH):
        super(Model, self).__init__()
        self.blocks = nn.Sequential(*[Block(width) for _ in range(count)])
        self.register_buffer("mask", torch.tril(torch.ones(width, width)))

    def forward(self, x):
        return self.blocks(x) @ self.mask

SCALES = {"gpu": {"WIDTH": 16}}
def get_inputs():
    return [torch.randn(4, WIDTH)]
def get_init_inputs():
    return [2]
'''


def test_a_constructor_takes_along_what_it_needs(tmp_path: Path) -> None:
    text = constructor_source(SOURCE, "cpu")
    assert "WIDTH = 8" in text and "_spread" in text and "nn.init" in text
    assert not any(word in text for word in ("forward", "unused", "functional", "words"))
    assert "WIDTH = 16" in constructor_source(SOURCE, "gpu")
    composed = compose(SOURCE, tmp_path)
    reference, candidate = composed.task.model(5), composed.model(5)
    assert list(candidate.state_dict()) == list(reference.state_dict())
    x = torch.randn(7, 8)
    torch.testing.assert_close(candidate(x), reference(x), rtol=1e-4, atol=1e-4)
