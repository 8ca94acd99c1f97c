"""The baseline for RISC-V vectors: what clang makes of a task by itself."""

from collections.abc import Iterator, Sequence

from kernelmill.generators.composer.baselines import missing_where_declined, traced
from kernelmill.generators.composer.ir.values import Attention, Buffer, Value
from kernelmill.generators.composer.loops.statements import Loop, Statements
from kernelmill.generators.composer.lowering.attention import in_products
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.rvv.decisions import CATALOGUE
from kernelmill.generators.composer.targets.rvv.loops import VectorLoops
from kernelmill.generators.composer.targets.rvv.program import RvvProgram
from kernelmill.records.decisions import Decisions
from kernelmill.records.task import Task

PLAIN: Decisions = {"fuse": False, "specialise": False, "contract": "loops", "tail": "scalar"}


class PlainProgram(RvvProgram):
    """Loops as they are said: sums in any order, but no word to the compiler about vectors."""

    def _emit(self, value: Value, target: Buffer) -> None:
        if isinstance(value, Attention):
            self._store(in_products(value), target)
        else:
            super()._emit(value, target)

    def _printed(self, statements: Statements) -> list[str]:
        return _UndirectedLoops(self._plan).lines(statements)


class _UndirectedLoops(VectorLoops):
    """Loops whose vectors clang chooses."""

    def _demanded(self, loop: Loop, body: Sequence[str], demand: str) -> Iterator[str]:
        return self._written(loop, body)


def write_plain(task: Task) -> Iterator[dict[str, str]]:
    """What clang makes of a task by itself: every operator a loop nest of its own."""
    with missing_where_declined():
        yield PlainProgram(traced(task), Plan(PLAIN, CATALOGUE)).files(task)
