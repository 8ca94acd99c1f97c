"""Operators, composed for Triton and run in its interpreter at two shapes."""

import ast
import builtins
import copy
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from generators.composer.special_values import Special, special_inputs
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.search.sampler import choose
from kernelmill.generators.composer.search.tried import Tried
from kernelmill.generators.composer.targets.triton.decisions import CATALOGUE
from kernelmill.generators.composer.targets.triton.program import TritonProgram
from kernelmill.generators.composer.tracing.trace import trace_model
from kernelmill.records.decisions import Choice, is_choice
from kernelmill.records.numerics import Numerics
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.tensors.torch_side import describe_value
from samples import make_task

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)
_RUNNER = Path(__file__).with_name("triton_runner.py")


class Of(nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class Case(NamedTuple):
    model: nn.Module
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    """Of the inputs: the shown ones, then others."""
    decisions: dict[str, Choice] = {}
    dtype: torch.dtype = torch.float32


def of(function: Callable[..., Any], *shapes: Any, **decisions: Choice) -> Case:
    every = tuple(s if isinstance(s[0], tuple) else (s,) for s in shapes)
    return Case(Of(function), every, decisions)


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _squared(x: torch.Tensor) -> torch.Tensor:
    return x @ x


def _less_its_mean(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(1, keepdim=True)


def _products(x: torch.Tensor) -> list[torch.Tensor]:
    return [x.softmax(1) @ x.mT, F.gelu(x), x.sum(0), x.argmax(1), x.float() * 2]


_HEADS = ((2, 3, 20, 8),) * 3
_LONG = (2, 9000)
CASES = {
    "pointwise": of(lambda x: F.gelu(x) + torch.tanh(x) * F.softplus(x), (7, 33), (1, 5)),
    "choices": of(lambda x: torch.where(x > 0, x.sqrt(), x.exp()).clamp(max=1), (7, 33), (2, 2)),
    "angle": of(torch.angle, (7, 33), (1, 5)),
    "joined": of(lambda x: torch.cat([x, x.flip(1), F.pad(x, (1, 2))], 1), (3, 5), (4, 2)),
    "permuted": of(lambda x: x.permute(2, 0, 1) * 2, (3, 5, 7), (2, 2, 2)),
    "softmax": of(lambda x: x.softmax(1), (5, 40), (3, 129)),
    "softmax in a loop": of(lambda x: x.softmax(1), (3, 3000), (2, 4097), keep_rows=False),
    "folds of one in a loop": of(lambda x: _less_its_mean(x.amax(1, keepdim=True)), (3, 3000), keep_rows=False),
    "softmax beside": of(lambda x: x.softmax(1), (2, 9, 40), (1, 4, 7)),
    "few long rows": of(lambda x: x.square().mean() + x.amax(), _LONG, (3, 5)),
    "places": of(lambda x: (x.argmax(1), x.argmin(0)), (6, 50), (3, 7)),
    "moments": of(lambda x: torch.var(x, 1) + x.mean(1), (4, 300), (2, 17)),
    "moments shared": of(lambda x: F.batch_norm(x, None, None, training=True), (4, 2, 2200), (3, 2, 5)),
    "moments in a loop": of(lambda x: F.layer_norm(x, (3000,)), (2, 3000), keep_rows=False),
    "product": of(torch.matmul, ((40, 24), (24, 33)), ((5, 7), (7, 3))),
    "product turned": of(lambda a, b: a.mT @ b.mT, ((24, 40), (33, 24)), ((7, 5), (3, 7))),
    "product of resident programs": of(torch.matmul, ((1000, 20), (20, 900)), ((70, 9), (9, 30)), resident=1, tile="64x64x32"),
    "products of resident programs": of(torch.bmm, ((3, 20, 16), (3, 16, 20)), ((1, 5, 9), (1, 9, 4)), resident=2, precision="tf32x3"),
    "convolution of resident programs": Case(nn.ConvTranspose2d(16, 20, 3, stride=2), (((2, 16, 7, 6),), ((1, 16, 4, 5),)), {"resident": 1, "split": 2}),
    "product in parts": of(torch.matmul, ((16, 100), (100, 16)), ((3, 65), (65, 2)), split=4),
    "product with itself": of(lambda x: _squared(x.mT) + _squared(x), (24, 24)),
    "product split at each use": of(torch.matmul, ((40, 24), (24, 33)), precision="tf32x3"),
    "product of many": of(torch.bmm, ((3, 20, 18), (3, 18, 40)), ((1, 2, 3), (1, 3, 4))),
    "product with a vector": of(torch.matmul, ((40, 24), (24, 1)), ((5, 7), (7, 1))),
    "linear with more": Case(nn.Sequential(nn.Linear(24, 40), nn.ReLU(), nn.Linear(40, 20)), (((9, 24),), ((2, 24),))),
    "convolution": Case(nn.Sequential(nn.Conv2d(16, 20, 3, padding=1), nn.SiLU()), (((2, 16, 7, 6),), ((1, 16, 4, 5),))),
    "convolution in parts": Case(nn.Conv2d(32, 16, 3), (((1, 32, 6, 6),), ((1, 32, 5, 4),)), {"split": 4}),
    "convolution in unequal parts": Case(nn.Conv2d(16, 32, 3), (((1, 16, 9, 8),), ((1, 16, 4, 5),)), {"split": 2}),
    "convolution of few": Case(nn.Conv1d(3, 8, 5, stride=2, dilation=2), (((2, 3, 30),), ((1, 3, 12),))),
    "convolution in groups": Case(nn.Conv2d(32, 8, 3, groups=2), (((2, 32, 6, 5),), ((1, 32, 4, 4),))),
    "convolution with many rows": Case(nn.Conv2d(5, 80, 3, padding=1), (((2, 5, 9, 8),), ((1, 5, 4, 3),))),
    "convolution split at each use": Case(nn.Conv2d(16, 20, 3, padding=1), (((2, 16, 7, 6),),), {"precision": "tf32x3"}),
    "convolution turned": Case(nn.Conv2d(16, 16, 3, stride=2), (((1, 16, 9, 8),),), {"precision": "tf32x3", "operand": "channels-last"}),
    "transposed split at each use": Case(nn.ConvTranspose2d(16, 8, 4, stride=2), (((2, 16, 4, 5),),), {"precision": "tf32x3"}),
    "depthwise": Case(nn.Conv2d(6, 6, 3, padding=1, groups=6), (((2, 6, 7, 8),), ((1, 6, 3, 3),))),
    "transposed": Case(nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1), (((2, 16, 4, 5),), ((1, 16, 3, 3),))),
    "transposed and dilated": Case(nn.ConvTranspose1d(16, 8, 4, stride=2, padding=3, dilation=2), (((2, 16, 9),), ((1, 16, 6),))),
    "transposed by three": Case(nn.ConvTranspose1d(16, 8, 5, stride=3, dilation=2, output_padding=1), (((2, 16, 5),), ((1, 16, 4),))),
    "pooling": of(lambda x: F.max_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1), (2, 3, 9, 8), (1, 2, 5, 5)),
    "running": of(lambda x: (x.cumsum(1) * 2, x.flip(0).cumsum(0).flip(0)), (5, 40), (3, 7)),
    "attention": of(_attention, _HEADS, ((1, 2, 17, 8),) * 3),
    "attention in products": of(F.scaled_dot_product_attention, ((1, 1, 6, 160),) * 3),
    "sizes of any kind": of(lambda x: x.softmax(1) @ x.mT, (20, 24), (3, 7), specialise=False),
    "whole numbers": of(torch.matmul, ((20, 20), (20, 20)), precision="ieee"),
    "bfloat16": of(_products, (20, 24), (3, 7))._replace(dtype=torch.bfloat16),
    "float16": of(_products, (20, 24), (3, 7))._replace(dtype=torch.float16),
    "product of halves": of(torch.matmul, ((40, 24), (24, 33)), ((5, 7), (7, 3)))._replace(dtype=torch.bfloat16),
    "convolution of halves": Case(nn.Conv2d(16, 20, 3, padding=1).half(), (((2, 16, 7, 6),), ((1, 16, 4, 5),)), dtype=torch.float16),
}  # fmt: skip


def _inputs(case: Case, number: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(number)
    return [torch.randn(s, generator=generator).to(case.dtype) for s in case.shapes[number]]


def compose(case: Case, folder: Path, numerics: Numerics = Numerics.IEEE) -> None:
    inputs = [_inputs(case, number) for number in range(len(case.shapes))]
    write(case.model, inputs, case.decisions, folder, numerics)


def write(
    model: nn.Module,
    inputs: list[list[torch.Tensor]],
    decisions: dict[str, Choice],
    folder: Path,
    numerics: Numerics = Numerics.IEEE,
) -> None:
    """Compose for the first of the inputs; the runner is given all of them."""
    shown = inputs[0]
    with torch.no_grad():
        graph = trace_model(model, shown)
    state = {
        name: TensorSpec(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for name, tensor in model.state_dict().items()
    }
    variant = Variant({}, describe_value(shown, []), (), False)
    task = Task("t", "", "", "", "cpu", (variant,), (), (), state, (), 0)
    files = TritonProgram(graph, Plan(decisions, CATALOGUE, numerics)).files(task)
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    torch.save({"inputs": inputs, "state": model.state_dict()}, folder / "given.pt")


@pytest.fixture(scope="module")
def interpreter() -> Iterator[subprocess.Popen[str]]:
    """One process for all cases: its imports take longer than most of them."""
    command = [sys.executable, str(_RUNNER)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@needs_triton
@pytest.mark.parametrize("name", CASES)
def test_composed_operators_are_right(
    name: str, interpreter: subprocess.Popen[str], tmp_path: Path
) -> None:
    case, folder = CASES[name], tmp_path / "composed"
    compose(case, folder)
    for number, got in enumerate(answers(interpreter, folder)):
        with torch.no_grad():
            inputs = _inputs(case, number)
            types = [one.dtype for one in _flat(case.model(*inputs))]
            wide = copy.deepcopy(case.model).float()
            wanted = wide(*(x.float() if x.is_floating_point() else x for x in inputs))
        step = max(2e-5, torch.finfo(case.dtype).eps)
        for one, other, dtype in zip(_flat(got), _flat(wanted), types, strict=True):
            assert one.shape == other.shape and one.dtype == dtype
            torch.testing.assert_close(one, other.to(dtype), rtol=step, atol=2e-5)


@needs_triton
@pytest.mark.parametrize(
    ("numerics", "name", "rounds"),
    [
        (Numerics.FRAMEWORK, "convolution", True),
        (Numerics.FRAMEWORK, "transposed", True),
        (Numerics.FRAMEWORK, "product", False),
        (Numerics.TF32, "product", True),
        (Numerics.HALF, "product", True),
    ],
)
def test_products_are_as_coarse_as_the_numerics_allow(
    numerics: Numerics, name: str, rounds: bool, interpreter: subprocess.Popen[str], tmp_path: Path
) -> None:
    """TF32 and float16 have eleven digits; without rounding the error is that of float32."""
    case, folder = CASES[name], tmp_path / "composed"
    compose(case, folder, numerics)
    got = answers(interpreter, folder)[0]
    with torch.no_grad():
        wanted = copy.deepcopy(case.model).double()(*(x.double() for x in _inputs(case, 0)))
    error = (got.double() - wanted).norm() / wanted.norm()
    assert 1e-5 < error < 2.0**-11 if rounds else error < 1e-6


@needs_triton
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_multiplied_as_they_are(dtype: torch.dtype, tmp_path: Path) -> None:
    """Six products of three planes would multiply zeros."""
    compose(CASES["product of halves"]._replace(dtype=dtype), tmp_path / "composed")
    code = (tmp_path / "composed" / "model.py").read_text()
    assert code.count("tl.dot(") == 1 and "parts_of" not in code


@needs_triton
def test_special_values_come_out_as_in_the_framework(
    interpreter: subprocess.Popen[str], tmp_path: Path
) -> None:
    write(Special(), [special_inputs()], {}, tmp_path / "composed")
    (got,) = answers(interpreter, tmp_path / "composed")
    Special().check(got)


def _normed(x: torch.Tensor) -> list[torch.Tensor]:
    return [F.layer_norm(x, x.shape[1:]), F.batch_norm(x, None, None, training=True)]


@needs_triton
@pytest.mark.parametrize("moments", ["joint", "two-pass"])
def test_a_variance_that_overflows_makes_no_nan(
    moments: str, interpreter: subprocess.Popen[str], tmp_path: Path
) -> None:
    """It is infinite, and what is divided by it becomes nought, as in the framework."""
    x = torch.randn(2, 3, 3000, generator=torch.Generator().manual_seed(1)).add_(3) * 1e30
    write(Of(_normed), [(x,)], {"moments": moments}, tmp_path / "composed")
    (got,) = answers(interpreter, tmp_path / "composed")
    for one in got:
        assert torch.equal(one, torch.zeros_like(x))


def answers(interpreter: subprocess.Popen[str], folder: Path) -> list[Any]:
    assert interpreter.stdin is not None and interpreter.stdout is not None
    print(folder, file=interpreter.stdin, flush=True)
    assert interpreter.stdout.readline() == "done\n"
    answers: list[Any] = torch.load(folder / "answers.pt", weights_only=False)
    assert not any(isinstance(answer, str) for answer in answers), answers
    return answers


@pytest.mark.parametrize("name", CASES)
def test_kernels_use_no_name_they_do_not_have(name: str, tmp_path: Path) -> None:
    """Nor where rows go through loops, whatever the case decides."""
    case = CASES[name]
    compose(case._replace(decisions={**case.decisions, "keep_rows": False}), tmp_path / "composed")
    tree = ast.parse((tmp_path / "composed" / "model.py").read_text())
    known = {*dir(builtins), *_bound(tree)}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            assert used <= known | _bound(function)


@pytest.mark.parametrize("precision", ["bf16x6", "tf32x3"])
@pytest.mark.parametrize("tile", ["128x128x32", "128x256x32", "64x64x32"])
def test_tiles_on_their_way_fit_into_fast_memory(precision: str, tile: str, tmp_path: Path) -> None:
    case = of(torch.matmul, ((512, 512), (512, 512)), precision=precision, tile=tile, stages=5)
    compose(case, tmp_path / "composed")
    text = (tmp_path / "composed" / "model.py").read_text()
    rows, columns, depth = (int(side) for side in tile.split("x"))
    element = 6 if precision == "bf16x6" else 4
    stages = max(int(count) for count in re.findall(r"num_stages=(\d+)", text))
    a_tile = element * depth * (rows + columns)
    assert stages * a_tile <= 227 << 10
    assert stages == 5 or (stages + 1) * a_tile > 210 << 10


def _bound(tree: ast.AST) -> set[str]:
    """Names that are given to something in a program, but for what is inside of its functions."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case ast.arg():
                names.add(node.arg)
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            names |= _bound(node)
    return names


def _flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


@given(st.integers(0, 2**60))
def test_every_choice_is_one_of_the_catalogue(seed: int) -> None:
    proposal = Proposal(make_task("starter/gelu"), "triton", Stage.DRAFT, seed)
    names = ("tile", "warps", "precision")
    choices = {name: CATALOGUE[name].choices for name in names}
    chosen = choose(proposal, choices, Tried(proposal, str))
    assert set(chosen) == {"tile", "warps", "precision"}
    assert all(is_choice(name, choice, CATALOGUE) for name, choice in chosen.items())


NUMBERS = st.recursive(
    st.integers(1, 99).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+*/%"), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]} + 1)"
    ),
    max_leaves=8,
)


@given(NUMBERS)
def test_sizes_are_the_same_in_python(code: str) -> None:
    assert eval(host(code)) == eval(code.replace("/", "//"))
