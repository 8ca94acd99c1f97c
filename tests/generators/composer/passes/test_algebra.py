"""Rewrites as decisions, and what every target makes of rewritten graphs."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from generators.composer.lowering import test_lowering
from generators.composer.passes.making import Making
from generators.composer.targets import test_triton
from generators.composer.targets.test_triton import interpreter  # noqa: F401 - a fixture
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.emitters import Emitter, get_emitter, with_algebra
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.passes import ALGEBRA, rewritten
from kernelmill.generators.composer.passes.calls import matrix_product, pointwise, reduced
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.emitter import EMITTER as PALLAS
from kernelmill.generators.composer.targets.rvv.emitter import EMITTER as RVV
from kernelmill.generators.composer.targets.triton.emitter import EMITTER as TRITON
from kernelmill.generators.composer.tracing.trace import trace_model


class Averaged(nn.Module):
    """Linear operators before sums, means and pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)
        self.along = nn.Conv2d(4, 16, 3, padding=1)
        self.linear = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [
            (self.up(x) * 0.5).mean((2, 3), keepdim=True),
            self.along(x).sum(3) / 3,
            F.avg_pool2d(self.up(x), 2),
            F.avg_pool2d(self.along(x), 2),
            self.linear(y).sum(1),
            F.avg_pool1d(self.linear(y).unsqueeze(1), 4).relu(),
        ]


def averaged_inputs(batch: int, height: int, width: int) -> list[torch.Tensor]:
    return [torch.randn(batch, 4, height, width), torch.randn(batch, 8)]


class Meeting(nn.Module):
    """Kernels with taps that meet nothing of a small image."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)
        self.along = nn.Conv2d(4, 16, 5, padding=2)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [self.up(x).mean((2, 3)), self.along(x).sum(3), self.along(x).mean((2, 3))]


def _with_rewrites(program: Callable[[Graph, Plan], Any]) -> Callable[[Graph, Plan], Any]:
    def other(graph: Graph, plan: Plan) -> Any:
        again = rewritten(graph, Plan({}, ALGEBRA))
        assert again is not graph
        return program(again, plan)

    return other


@pytest.mark.compiler
def test_rewritten_graphs_are_right_in_cpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_lowering, "CppProgram", _with_rewrites(test_lowering.CppProgram))
    test_lowering.check(Averaged(), averaged_inputs, tmp_path)


@test_triton.needs_triton
@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (Averaged(), [averaged_inputs(2, 9, 8), averaged_inputs(1, 4, 3)]),
        (Meeting(), [averaged_inputs(2, *sizes)[:1] for sizes in ((9, 8), (1, 1), (2, 1))]),
    ],
    ids=["averaged", "of small images"],
)
def test_rewritten_graphs_are_right_in_triton(
    model: nn.Module,
    inputs: list[list[torch.Tensor]],
    interpreter: subprocess.Popen[str],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(test_triton, "TritonProgram", _with_rewrites(test_triton.TritonProgram))
    folder = tmp_path / "composed"
    test_triton.write(model, inputs, {}, folder)
    for some, got in zip(inputs, test_triton.answers(interpreter, folder), strict=True):
        with torch.no_grad():
            wanted = model(*some)
        for one, other in zip(got, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)


@pytest.fixture(scope="module")
def traced() -> Iterator[Graph]:
    with torch.no_grad():
        yield trace_model(Averaged(), averaged_inputs(6, 40, 48))


@pytest.mark.parametrize("emitter", [RVV, TRITON, PALLAS], ids=["rvv", "triton", "pallas"])
def test_other_targets_write_rewritten_graphs(emitter: Emitter, traced: Graph) -> None:
    emitter.program(rewritten(traced, Plan({}, ALGEBRA)), Plan({}, emitter.catalogue))


def _sum_of_a_product(shared: bool) -> Graph:
    making = Making()
    left, right = making.source(["s0=7", 5]), making.source([5, 6])
    whole = matrix_product(making.editor, left, right)
    total = reduced(making.editor, whole, [1], mean=False)
    return making.finished(pointwise(making.editor, "mul", total, whole) if shared else total)


def test_a_rewrite_is_open_only_where_it_changes_something() -> None:
    graph, plan = _sum_of_a_product(shared=False), Plan({}, ALGEBRA)
    assert rewritten(graph, plan) is not graph
    assert plan.consulted == {"reduce_operands"}
    graph, plan = _sum_of_a_product(shared=True), Plan({}, ALGEBRA)
    assert rewritten(graph, plan) is graph
    assert not plan.consulted


def test_a_rewrite_that_is_not_chosen_leaves_the_graph() -> None:
    graph = _sum_of_a_product(shared=False)
    assert rewritten(graph, Plan({"reduce_operands": False}, ALGEBRA)) is graph


def test_a_target_that_lacks_an_operator_writes_what_was_traced() -> None:
    def program(graph: Graph, _plan: Plan) -> Any:
        if any(node.op == "permute" for node in graph.nodes):
            raise Declined("the operator aten.permute")
        return graph

    emitter, graph = with_algebra(Emitter(program, {})), _sum_of_a_product(shared=False)
    assert emitter.program(graph, Plan({}, emitter.catalogue)) is graph


def test_every_target_has_the_decisions_of_algebra() -> None:
    for backend in ("cpp", "rvv", "triton", "pallas"):
        emitter = get_emitter(backend)
        assert emitter is not None and emitter.catalogue.keys() >= ALGEBRA.keys()
