"""A target is a folder and an entry point: nothing else has to know of it."""

from pathlib import Path

import pytest
import torch
from torch import nn

from generators.composer.lowering.test_lowering import task_of
from kernelmill.generators import decision_catalogue
from kernelmill.generators.composer import Composer
from kernelmill.generators.composer.emitters import get_emitter
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.tracing.trace import trace_model

_TARGET = '''
"""Plain C++ for a machine with one core and no vectors."""

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.emitters import Emitter
from kernelmill.generators.composer.loops.decisions import ACCUMULATE, KEEP_ROWS, LANES, SPECIALISE
from kernelmill.generators.composer.loops.printer import LoopPrinter
from kernelmill.generators.composer.loops.program import LoopProgram
from kernelmill.generators.composer.lowering.decisions import FUSE, MOMENTS
from kernelmill.records.decisions import Decision

CATALOGUE = {
    "fuse": FUSE, "specialise": SPECIALISE, "accumulate": ACCUMULATE, "moments": MOMENTS,
    "keep_rows": KEEP_ROWS, "lanes": LANES, "parallel": Decision(("none",), "one core"),
}


class PlainLoops(LoopPrinter):
    def _loop(self, loop):
        yield from self._written(loop, self.lines(loop.body))


class PlainProgram(LoopProgram):
    def files(self, task):
        return {"kernel.cpp": self._source(task)}

    def _contraction(self, contract, value, target):
        raise Declined("a product")

    _attention = _contraction

    def _includes(self):
        return ['#include "support.hpp"']

    def _printed(self, statements):
        return PlainLoops().lines(statements)

    def _entry(self, task):
        return [f'extern "C" void forward({", ".join(self._parameters())}) {{',
                *self._calls(), "}"]


EMITTER = Emitter(PlainProgram, CATALOGUE)
'''


class _Softmax(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.softmax(1)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that has nothing but the target."""
    (tmp_path / "plain_target.py").write_text(_TARGET)
    described = tmp_path / "plain_target-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-target\nVersion: 1\n")
    entry = "[kernelmill.emitters]\nplain = plain_target:EMITTER\n"
    (described / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(tmp_path)
    return "plain"


def test_a_target_is_found_by_its_entry_point(installed: str) -> None:
    emitter = get_emitter(installed)
    assert emitter is not None
    inputs = [torch.randn(4, 40)]
    graph = trace_model(_Softmax(), inputs)
    for fuse in (True, False):
        plan = Plan({"fuse": fuse}, emitter.catalogue)
        files = emitter.program(graph, plan).files(task_of(_Softmax(), inputs))
        assert "void run(" in files["kernel.cpp"] and "#pragma" not in files["kernel.cpp"]
    assert "lanes" in decision_catalogue(installed)
    Composer().check(installed)
