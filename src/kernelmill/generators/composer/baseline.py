"""Baselines for chips without a compiler that reads the reference: the composer's defaults."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernelmill.backends.modelled import BaselineMissing, OperatorsLacking
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.composer import Composer
from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.pypto.decisions import CATALOGUE as PYPTO_CATALOGUE
from kernelmill.generators.composer.emit.pypto.program import PyptoProgram, lacking_operators
from kernelmill.generators.composer.emit.rvv.decisions import CATALOGUE
from kernelmill.generators.composer.emit.rvv.loops import VectorLoops
from kernelmill.generators.composer.emit.rvv.program import RvvProgram
from kernelmill.generators.composer.emit.triton.emitter import EMITTER
from kernelmill.generators.composer.ir.loops import Loop, Statements
from kernelmill.generators.composer.lowering.attention import in_products
from kernelmill.generators.composer.values import Attention, Buffer, Value
from kernelmill.records.decisions import Catalogue, Decision, Decisions
from kernelmill.records.task import Task

PLAIN: Decisions = {"fuse": False, "specialise": False, "contract": "loops", "tail": "scalar"}
_ON_ASCEND: Decisions = {"precision": "ieee", "moments": "two-pass"}
"""What Triton-Ascend compiles: it has no reductions of several values at once."""
SHRINK = Decision((1, 2, 4, 8, 16, 32), "divide the sides of all tiles, for a chip with less room")
_SHRINKING: Catalogue = {**EMITTER.catalogue, "shrink": SHRINK}


class PlainProgram(RvvProgram):
    """Loops as they are said: sums in any order, but no word to the compiler about vectors."""

    def _emit(self, value: Value, target: Buffer) -> None:
        if isinstance(value, Attention):
            self._store(in_products(value), target)
        else:
            super()._emit(value, target)

    def _printed(self, lines: Statements) -> list[str]:
        return _UndirectedLoops(self._plan).lines(lines)


class _UndirectedLoops(VectorLoops):
    """Loops whose vectors clang chooses."""

    def _demanded(self, loop: Loop, body: Sequence[str], demand: str) -> Iterator[str]:
        return self._written(loop, body)


def write_plain_rvv(task: Task) -> Iterator[dict[str, str]]:
    """What clang makes of a task by itself: every operator a loop nest of its own."""
    with _missing_where_declined():
        yield PlainProgram(_tracer().trace(task), Plan(PLAIN, CATALOGUE)).files(task)


def write_plain_triton(task: Task) -> Iterator[dict[str, str]]:
    """Kernels in Triton, by the defaults; then with ever smaller tiles, then without fusion."""
    known = set()
    for fuse in (True, False):
        for shrink in SHRINK.choices:
            plan = Plan({**_ON_ASCEND, "fuse": fuse, "shrink": shrink}, _SHRINKING)
            with _missing_where_declined():
                files = EMITTER.program(_tracer().trace(task), plan).files(task)
            if files["model.py"] not in known:
                known.add(files["model.py"])
                yield files


def write_plain_pypto(task: Task) -> Iterator[dict[str, str]]:
    """A kernel in PyPTO for every operator, with the default tiles, then with ever smaller ones."""
    with _missing_where_declined():
        graph = _tracer().trace(task)
    if lacking := lacking_operators(graph):
        raise OperatorsLacking(lacking)
    for tile in PYPTO_CATALOGUE["tile"].choices:
        with _missing_where_declined():
            yield PyptoProgram(graph, Plan({"tile": tile}, PYPTO_CATALOGUE)).files(task)


@contextmanager
def _missing_where_declined() -> Iterator[None]:
    try:
        yield
    except Declined as declined:
        raise BaselineMissing(str(declined)) from declined


@functools.cache
def _tracer() -> Composer:
    """One for all tasks; its warm process ends with this one."""
    return Composer()
