"""What a compiler makes of a task by itself: every operator a loop nest of its own."""

import functools

from kernelmill.backends.modelled import BaselineMissing
from kernelmill.generators.base import Declined
from kernelmill.generators.composer.composer import Composer
from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.rvv.decisions import CATALOGUE
from kernelmill.generators.composer.emit.rvv.program import RvvProgram
from kernelmill.generators.composer.lowering.attention import in_products
from kernelmill.generators.composer.values import Attention, Buffer, Value
from kernelmill.generators.decisions import Decisions
from kernelmill.tasks.task import Task

_PLAIN: Decisions = {"fuse": False, "specialise": False, "contract": "loops", "tail": "scalar"}


class PlainProgram(RvvProgram):
    """Loops as they are said: sums in any order, but no word to the compiler about vectors."""

    def _emit(self, value: Value, target: Buffer) -> None:
        super()._emit(in_products(value) if isinstance(value, Attention) else value, target)

    def _directed(self, lines: list[str]) -> list[str]:
        demands = "#pragma clang loop"
        return [line for line in super()._directed(lines) if not line.startswith(demands)]


def write_plain_rvv(task: Task) -> dict[str, str]:
    """The baseline of the rvv backend. Raises BaselineMissing."""
    try:
        program = PlainProgram(_tracer().trace(task), Plan(_PLAIN, CATALOGUE))
        return program.files(task)
    except Declined as declined:
        raise BaselineMissing(str(declined)) from declined


@functools.cache
def _tracer() -> Composer:
    """One for all tasks; its warm process ends with this one."""
    return Composer()
