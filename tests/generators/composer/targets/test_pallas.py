"""Operators, composed for a TPU; run in Pallas's interpreter where the tool chain is installed."""

import ast
import pickle
import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.backends import get_backend
from kernelmill.backends.pallas.source_rules import check_pallas_source
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.composer import Composer
from kernelmill.generators.composer.ir.graph import Extent, Graph
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.decisions import CATALOGUE
from kernelmill.generators.composer.targets.pallas.program import PallasProgram
from kernelmill.generators.composer.targets.pallas.tensors import segments
from kernelmill.generators.composer.tracing.trace import trace_model
from kernelmill.records.decisions import Choice
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.task import Task, Variant, tensor_specs
from kernelmill.tasks import load_suite
from kernelmill.tensors.torch_side import describe_value
from samples import make_task

_RUNNER = Path(__file__).with_name("pallas_runner.py")
_SECONDS = 900.0


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


def of(function: Callable[..., Any], *shapes: Any, **decisions: Choice) -> Case:
    every = tuple(s if isinstance(s[0], tuple) else (s,) for s in shapes)
    return Case(Of(function), every, decisions)


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


_HEADS = ((2, 3, 20, 8),) * 3
CASES = {
    "pointwise": of(lambda x: F.gelu(x) + torch.tanh(x) * F.softplus(x), (7, 33), (2, 5)),
    "in blocks": of(lambda x: F.elu(x).abs().sqrt(), (64, 33), (17, 5), rows=8),
    "rounded": of(lambda x: (x.ceil(), (2 * x).round(), x.trunc(), x.frac(), x.fmod(0.3)), (7, 33), (2, 5)),
    "powers of two": of(lambda x: (x.exp2(), (x.abs() + 1).log2(), (x.abs() + 1).log10()), (7, 33), (2, 5)),
    "hyperbolic": of(lambda x: (x.sinh(), x.cosh(), x.tan()), (7, 33), (2, 5)),
    "numbers that are none": of(lambda x: ((x / 0).isinf(), (x - 1).log().isnan()), (7, 33), (2, 5)),
    "activations": of(lambda x: (F.mish(x), F.hardswish(x), F.hardsigmoid(x), F.logsigmoid(x)), (7, 33), (2, 5)),
    "neighbours": of(lambda x, y: (torch.nextafter(x, y) - x).sign(), ((7, 33), (33,))),
    "angle": of(torch.angle, (7, 33), (2, 5)),
    "whole numbers": of(lambda x: ((4 * x).int().fmod(3), (4 * x).int() << 2, (4 * x).int() ^ 5), (7, 33), (2, 5)),
    "scaled": of(lambda x, y: (torch.add(x, y, alpha=2), torch.rsub(x, y), x != y, x.bool() * y.bool()), ((7, 33), (33,))),
    "choices": of(lambda x: torch.where(x > 0, x.abs().sqrt(), x.exp()).clamp(max=1), (7, 33)),
    "joined": of(lambda x: torch.cat([x, x[:, 1:], F.pad(x, (1, 2))], 1), (3, 5), (4, 2)),
    "permuted": of(lambda x: x.permute(2, 0, 1) * 2, (3, 5, 7), (2, 4, 2)),
    "kept by columns": of(torch.mm, ((256, 24), (24, 256)), ((33, 17), (17, 65))),
    "turned": Case(nn.PReLU(20), (((3, 20, 5, 6),), ((2, 20, 4, 3),))),
    "turned and folded": of(lambda x: x.softmax(1) + x.mean((2, 3), True), (2, 40, 5, 6), (3, 7, 2, 2)),
    "turned and gone": of(lambda x: (x * 2).mean((2, 3)), (2, 40, 5, 6), (3, 7, 2, 2)),
    "turned and running": of(lambda x: x.cumsum(1) + x.exp(), (2, 40, 5), (3, 7, 2)),
    "not turned": Case(nn.PReLU(20), (((3, 20, 5, 6),),), {"handed": "by rows"}),
    "softmax": of(lambda x: x.softmax(1), (40, 40), (3, 129)),
    "softmax beside": of(lambda x: x.softmax(1), (2, 9, 40), (3, 4, 7)),
    "all of it": of(lambda x: x.square().mean() + x.amax(), (70, 90), (3, 5)),
    "step by step": of(lambda x: x.sum(0), (70, 40), (33, 5), depth=128),
    "places": of(lambda x: (x.argmax(1), x.argmin(0)), (6, 50), (3, 7)),
    "moments": of(lambda x: torch.var(x, 1) + x.mean(1), (4, 300), (2, 17)),
    "moments at once": of(lambda x: torch.var(x, 1), (4, 300), moments="one-pass"),
    "batch norm": of(lambda x: F.batch_norm(x, None, None, training=True), (4, 2, 30), (3, 2, 5)),
    "group norm": of(lambda x: F.group_norm(x, 2), (4, 6, 5, 3), (3, 6, 2, 2)),
    "product": of(torch.matmul, ((40, 24), (24, 33)), ((5, 7), (7, 3))),
    "product in steps": of(torch.matmul, ((40, 300), (300, 33)), ((5, 130), (130, 3)), depth=128),
    "product turned": of(lambda a, b: a.mT @ b.mT, ((24, 40), (33, 24)), ((7, 5), (3, 7))),
    "product of many": of(torch.bmm, ((3, 20, 18), (3, 18, 40)), ((2, 2, 3), (2, 3, 4))),
    "product in three": of(lambda a, b: (a @ b).relu(), ((16, 8), (8, 16)), precision="bf16x3"),
    "linear twice": Case(nn.Sequential(nn.Linear(24, 40), nn.ReLU(), nn.Linear(40, 20)), (((9, 24),), ((2, 24),))),
    "linear twice in steps": Case(nn.Sequential(nn.Linear(300, 260), nn.ReLU(), nn.Linear(260, 1)), (((9, 300),), ((2, 300),)), {"fuse": "all", "depth": 128}),
    "nothing fused": Case(nn.Sequential(nn.Linear(8, 16), nn.ReLU()), (((9, 8),),), {"fuse": "none", "turn": "host"}),
    "convolution": Case(nn.Sequential(nn.Conv2d(16, 20, 3, padding=1), nn.SiLU()), (((2, 16, 7, 6),), ((3, 16, 4, 5),))),
    "convolution in strides": Case(nn.Conv2d(3, 8, 5, stride=2, padding=2), (((2, 3, 11, 12),), ((3, 3, 7, 7),))),
    "convolution of few": Case(nn.Conv1d(3, 8, 5, stride=2, dilation=2), (((2, 3, 30),), ((3, 3, 12),))),
    "convolution in groups": Case(nn.Conv2d(8, 8, 3, groups=2), (((2, 8, 6, 5),), ((3, 8, 4, 4),))),
    "depthwise": Case(nn.Conv2d(6, 6, 3, padding=1, groups=6), (((2, 6, 7, 8),), ((3, 6, 3, 3),))),
    "transposed": Case(nn.ConvTranspose2d(6, 8, 4, stride=2, padding=1), (((2, 6, 4, 5),), ((3, 6, 3, 3),))),
    "transposed by three": Case(nn.ConvTranspose1d(6, 8, 5, stride=3, dilation=2, output_padding=1), (((2, 6, 5),), ((3, 6, 4),))),
    "pooling": of(lambda x: F.max_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1), (2, 3, 9, 8), (3, 2, 5, 5)),
    "running": of(lambda x: (x.cumsum(1) * 2, x.flip(0).cumsum(0).flip(0)), (5, 40), (3, 7)),
    "picked": of(lambda x, y: F.embedding((y * 3).long().clamp(0, 4), x), ((5, 8), (6,)), ((5, 3), (2,))),
    "attention": of(_attention, _HEADS, ((3, 2, 17, 8),) * 3),
}  # fmt: skip


def _inputs(shapes: tuple[tuple[int, ...], ...], seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@cache
def traced(name: str) -> Graph:
    return trace(CASES[name])


def trace(case: Case) -> Graph:
    with torch.no_grad():
        return trace_model(case.model, _inputs(case.shapes[0], 0))


def compose(case: Case, graph: Graph) -> str:
    variant = Variant({}, describe_value(_inputs(case.shapes[0], 0), []), (), False)
    state = {name: tensor_specs([one])[0] for name, one in case.model.state_dict().items()}
    task = Task("t", "", "", "", "cpu", (variant,), (), (), state, (), 0)
    return PallasProgram(graph, Plan(case.decisions, CATALOGUE)).files(task)["model.py"]


@pytest.mark.parametrize("name", CASES)
def test_what_is_composed_keeps_the_rules(name: str) -> None:
    text = compose(CASES[name], traced(name))
    assert check_pallas_source(text, "model.py", True) == []


@pytest.mark.parametrize(
    ("name", "transposes"),
    [("turned", 3), ("turned and folded", 2), ("turned and gone", 2), ("not turned", 0)],
)
def test_what_is_turned_is_turned_by_the_host_alone(name: str, transposes: int) -> None:
    kernels, _, model = compose(CASES[name], traced(name)).partition("class ModelNew")
    assert "transpose" not in kernels
    assert model.count("jnp.transpose") == transposes


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What every case answered, from one process."""
    root = tmp_path_factory.mktemp("pallas")
    torch.manual_seed(0)
    for name, case in CASES.items():
        folder = root / name.replace(" ", "_")
        folder.mkdir()
        (folder / "model.py").write_text(compose(case, traced(name)))
        every = [_inputs(shapes, number) for number, shapes in enumerate(case.shapes)]
        inputs = [[tensor.numpy() for tensor in some] for some in every]
        state = {key: tensor.numpy() for key, tensor in case.model.state_dict().items()}
        given = pickle.dumps({"inputs": inputs, "state": state})
        (folder / "given.pickle").write_bytes(given)
    environment = get_backend("pallas").environment
    assert environment is not None
    command = [environment.python, str(_RUNNER), str(root)]
    subprocess.run(command, check=True, env={"JAX_PLATFORMS": "cpu"}, timeout=_SECONDS)
    return {
        name: pickle.loads((root / name.replace(" ", "_") / "answers.pickle").read_bytes())
        for name in CASES
    }


@pytest.mark.npu("pallas")
@pytest.mark.parametrize("name", CASES)
def test_composed_operators_are_right(name: str, answers: dict[str, list[Any]]) -> None:
    case = CASES[name]
    close = 1e-3 if case.decisions.get("precision") == "bf16x3" else 2e-5
    for number, got in enumerate(answers[name]):
        assert not isinstance(got, str), got
        with torch.no_grad():
            wanted = case.model(*_inputs(case.shapes[number], number))
        several = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        for one, other in zip(got, several, strict=True):
            assert one.shape == other.shape
            found = torch.from_numpy(one.copy()).to(other.dtype)
            torch.testing.assert_close(found, other, rtol=close, atol=close)


_LINEAR = Case(nn.Sequential(nn.Linear(256, 512), nn.LayerNorm(512)), (((1024, 256),),))


@pytest.fixture(scope="module")
def linear() -> Graph:
    return trace(_LINEAR)


@pytest.mark.parametrize("name", ["linear twice in steps", "softmax", "group norm", "attention"])
@given(st.fixed_dictionaries({n: st.sampled_from(d.choices) for n, d in CATALOGUE.items()}))
def test_every_choice_becomes_python(name: str, decisions: dict[str, Choice]) -> None:
    ast.parse(compose(CASES[name]._replace(decisions=decisions), traced(name)))


@pytest.mark.parametrize(
    "name", ["fuse", "moments", "rows", "buffers", "vmem", "precision", "turn"]
)
def test_a_choice_makes_a_difference(linear: Graph, name: str) -> None:
    texts = {
        compose(_LINEAR._replace(decisions={name: choice}), linear)
        for choice in CATALOGUE[name].choices
    }
    assert len(texts) >= len(CATALOGUE[name].choices) - 1  # `auto` comes to one of the others


def test_only_what_matters_is_open() -> None:
    plan = Plan({}, CATALOGUE)
    PallasProgram(traced("pointwise"), plan)
    assert not plan.consulted & {"precision", "moments", "depth", "turn", "order"}


def test_a_linear_layer_and_its_norm_are_one_kernel(linear: Graph) -> None:
    assert compose(_LINEAR, linear).count("pl.pallas_call(") == 1


def test_a_matrix_is_handed_over_as_the_chip_keeps_it() -> None:
    case = CASES["kept by columns"]
    graph = trace(case)
    assert compose(case, graph).count("jnp.transpose(") == 1, "the left one: 24 of 128 lanes"
    assert "jnp.transpose(" not in compose(case._replace(decisions={"handed": "by rows"}), graph)


def test_it_declines_by_naming_the_operator() -> None:
    case = of(lambda x: x.sort(1).values, (4, 8))
    with pytest.raises(Declined, match=re.escape("aten.sort")):
        compose(case, trace(case))


_SIZES = st.lists(st.integers(1, 6), max_size=5)


@given(_SIZES, st.data())
def test_axes_of_two_shapes_are_matched_by_their_elements(
    sizes: list[int], data: st.DataObject
) -> None:
    joined = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    merged: list[int] = []
    for size, join in zip(sizes, joined, strict=True):
        if join and merged:
            merged[-1] *= size
        else:
            merged.append(size)
    before = [Extent(str(size), size) for size in sizes]
    after = [Extent(str(size), size) for size in merged]
    for segment in segments(before, after):
        one = [sizes[axis] for axis in segment.before]
        other = [merged[axis] for axis in segment.after]
        assert torch.Size(one).numel() == torch.Size(other).numel()


def test_the_chip_does_not_matter_to_who_writes() -> None:
    source = load_suite("starter/softmax")[0].source
    task = msgspec.structs.replace(make_task("starter/softmax"), source=source)
    with closing(Composer()) as composer:
        drafts = [
            composer.write(Proposal(task, backend, Stage.DRAFT, 0))
            for backend in ("pallas", "pallas:v6e")
        ]
    assert drafts[0].candidate.files == drafts[1].candidate.files
    assert drafts[0].decisions["rows"] == "auto"
