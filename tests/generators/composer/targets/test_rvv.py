"""Operators, composed for RISC-V vectors and run in the emulator at two shapes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from generators.composer.special_values import Special, special_inputs
from kernelmill.backends import get_backend
from kernelmill.backends.base import BuildFailed
from kernelmill.backends.modelled import ModelledBackend
from kernelmill.generators.composer.ir.expressions import Element, Variable, filled
from kernelmill.generators.composer.loops.folds import FOLDS
from kernelmill.generators.composer.loops.statements import Assign, Loop, Reduction, Vectors
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.rvv.baseline import PLAIN, PlainProgram
from kernelmill.generators.composer.targets.rvv.decisions import CATALOGUE
from kernelmill.generators.composer.targets.rvv.loops import VectorLoops
from kernelmill.generators.composer.targets.rvv.program import RvvProgram
from kernelmill.generators.composer.tracing.trace import trace_model
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.decisions import Choice
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.tensors import Node, lay_out
from kernelmill.sandbox import Zygote
from kernelmill.tensors.arguments import CallArguments, InitArguments
from kernelmill.tensors.blob import Blob
from kernelmill.tensors.torch_side import describe_value

_SECONDS = 300.0
_MISSING = [need for need in get_backend("rvv").requirements() if not need.found]
needs_rvv = pytest.mark.skipif(
    bool(_MISSING), reason=f"needs {_MISSING[0].name}" if _MISSING else "nothing is missing"
)

Shapes = tuple[tuple[int, ...], ...]


class Elements(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        joined = torch.cat([x, x.flip(1), F.pad(x, (1, 2))], 1)
        return F.gelu(x) + torch.tanh(x) * F.softplus(x), joined, x.mT.clamp(max=1), x > 0


class Rows(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        moments = torch.var(x, 1) + x.mean(1) - x.amin(1)
        return x.softmax(1), x.softmax(0), moments, x.argmax(1), x.cumsum(1), x.cumsum(0), x.amax()


class Products(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        return a @ b, F.relu(b.mT @ a.mT + 1), a @ b[:, :1], a[:2] @ b, a[:2] @ a.mT


class Windows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.whole = nn.Conv2d(6, 8, 3, stride=2, padding=1)
        self.apart = nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.turned = nn.ConvTranspose2d(6, 4, 4, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        pooled = F.max_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1)
        return F.silu(self.whole(x)), self.apart(x), self.turned(x), pooled


class Attending(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Case(NamedTuple):
    model: nn.Module
    shapes: tuple[Shapes, Shapes]
    """Of the inputs: the shown ones, then others."""
    decisions: dict[str, Choice] = {}


_OTHER_LOOPS: dict[str, Choice] = {
    "lmul": 8, "unroll": 2, "tail": "narrow", "polynomials": "fused", "keep_rows": False,
    "accumulate": "double", "lanes": 32, "specialise": False,
}  # fmt: skip
_OTHER_TILES: dict[str, Choice] = {
    "tile": "4x4", "operand": "packed", "side": "rows", "depth_steps": 1, "tail": "all-masked",
    "accumulate": "double", "specialise": False,
}  # fmt: skip
_MATRICES = ((40, 70), (70, 33)), ((5, 7), (7, 3))
CASES = {
    "elements": Case(Elements(), (((7, 33),), ((1, 5),))),
    "rows": Case(Rows(), (((5, 140),), ((3, 7),))),
    "rows in other loops": Case(Rows(), (((5, 140),), ((3, 7),)), _OTHER_LOOPS),
    "products": Case(Products(), _MATRICES),
    "products in other tiles": Case(Products(), _MATRICES, _OTHER_TILES),
    "windows": Case(Windows(), (((2, 6, 9, 20),), ((1, 6, 4, 5),))),
    "attention": Case(Attending(), (((2, 3, 20, 8),) * 3, ((1, 2, 17, 8),) * 3)),
}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(get_backend("rvv").zygote_modules, threads=1) as zygote:
        yield zygote


def _inputs(shapes: Shapes) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(len(shapes[0]))
    return [torch.randn(shape, generator=generator) for shape in shapes]


def _compose(case: Case, program: type[RvvProgram] = RvvProgram) -> Candidate:
    return _written(case.model, _inputs(case.shapes[0]), case.decisions, program)


def _written(
    model: nn.Module,
    shown: list[torch.Tensor],
    decisions: dict[str, Choice],
    program: type[RvvProgram],
) -> Candidate:
    with torch.no_grad():
        graph = trace_model(model, shown)
    state = {name: _kind(tensor) for name, tensor in model.state_dict().items()}
    variant = Variant({}, describe_value(shown, []), (), False)
    task = Task("t", "", "", "", "cpu", (variant,), (), (), state, (), 0)
    files = program(graph, Plan(decisions, CATALOGUE)).files(task)
    return Candidate(files, Origin.COMPOSER)


def _kind(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


def _arguments(model: nn.Module, inputs: list[torch.Tensor]) -> CallArguments:
    state = model.state_dict()
    tensors = [*inputs, *state.values()]
    blob = Blob.create(lay_out([(_kind(t).dtype, _kind(t).shape) for t in tensors]))
    for number, tensor in enumerate(tensors):
        blob.array(number)[...] = tensor.numpy()
    nodes = tuple(Node(tensor=number) for number in range(len(inputs)))
    places = {name: len(inputs) + number for number, name in enumerate(state)}
    return CallArguments(blob, Node(items=nodes), places)


@needs_rvv
@pytest.mark.parametrize("name", CASES)
def test_composed_operators_are_right(name: str, zygote: Zygote) -> None:
    _assert_right(CASES[name], _compose(CASES[name]), zygote)


@needs_rvv
@pytest.mark.parametrize("name", ["rows", "products", "attention"])
def test_plain_loops_are_right(name: str, zygote: Zygote) -> None:
    case = CASES[name]._replace(decisions=PLAIN)
    _assert_right(case, _compose(case, PlainProgram), zygote)


def _assert_right(case: Case, candidate: Candidate, zygote: Zygote) -> None:
    backend = get_backend("rvv")
    assert isinstance(backend, ModelledBackend)
    built = backend.build(candidate, zygote)
    init = InitArguments(Node(), Blob.create(lay_out([])))
    with backend.open(candidate, built, init, zygote) as session, torch.no_grad():
        for shapes in case.shapes:
            inputs = _inputs(shapes)
            wanted = _flat(case.model(*inputs))
            kinds = [_kind(tensor) for tensor in wanted]
            got = session.execute(_arguments(case.model, inputs), kinds, _SECONDS)
            for one, other in zip(got, wanted, strict=True):
                torch.testing.assert_close(
                    torch.from_numpy(one.copy()), other, rtol=2e-5, atol=2e-5
                )


def _flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


@needs_rvv
def test_special_values_come_out_as_in_the_framework(zygote: Zygote) -> None:
    model, inputs = Special(), special_inputs()
    candidate = _written(model, inputs, {}, RvvProgram)
    backend = get_backend("rvv")
    assert isinstance(backend, ModelledBackend)
    built = backend.build(candidate, zygote)
    init = InitArguments(Node(), Blob.create(lay_out([])))
    kinds = [_kind(tensor) for tensor in model(*inputs)]
    with backend.open(candidate, built, init, zygote) as session:
        got = session.execute(_arguments(model, inputs), kinds, _SECONDS)
        model.check(one.copy() for one in got)


@needs_rvv
def test_sums_in_double_have_no_room_in_the_longest_vectors(zygote: Zygote) -> None:
    decisions: dict[str, Choice] = {"accumulate": "double", "tile": "2x8"}
    with pytest.raises(BuildFailed, match="refuses"):
        get_backend("rvv").build(_compose(Case(Products(), _MATRICES, decisions)), zygote)


_ELEMENT, _TOTAL = Element("x", Variable("i")), Variable("r0")


def _folded(op: str, decisions: dict[str, Choice]) -> list[str]:
    fold = FOLDS[op]
    grown = filled(fold.without_nan or fold.combine, [_TOTAL, _ELEMENT])
    vectors = Vectors(16, (Reduction(fold.simd, "r0"),))
    loop = Loop("i", "n", [Assign(_TOTAL, grown)], vectors=vectors)
    return VectorLoops(Plan(decisions, CATALOGUE)).lines([loop])


@pytest.mark.parametrize("tail", CATALOGUE["tail"].choices)
def test_every_demand_is_said_to_clang(tail: str) -> None:
    lines = _folded("sum", {"tail": tail, "lmul": 2, "unroll": 4})
    assert not any("omp" in line for line in lines)
    (*_, wide) = [line for line in lines if "interleave_count(4)" in line]
    assert "vectorize_width(4, scalable)" in wide
    loops = [line.strip() for line in lines if line.strip().startswith("for ")]
    if tail in ("masked", "narrow"):
        first, second = loops
        assert "i = 0; i < whole_i" in first and "i = whole_i; i < n" in second
    else:
        assert loops == ["for (long i = 0; i < n; ++i) {"]


def test_the_largest_is_folded_by_its_order() -> None:
    code = "\n".join(_folded("max", {"tail": "scalar"}))
    assert "order_r0 = here > order_r0 ? here : order_r0" in code
    assert "r0 = x[i]" not in code
