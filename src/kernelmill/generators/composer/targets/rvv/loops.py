"""Loops for vectors of RISC-V, with everything said to clang that it would decide itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kernelmill.generators.composer.ir.expressions import Apply, Expression, Variable
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.loops.printer import LoopPrinter, indented
from kernelmill.generators.composer.loops.statements import (
    Assign,
    Block,
    Loop,
    Reduction,
    Statement,
    Statements,
)
from kernelmill.generators.composer.plan import Plan

_MASK = " vectorize_predicate(enable)"
_FURTHER = {"max": Operator.GT, "min": Operator.LT}


class VectorLoops(LoopPrinter):
    """The same loops as for CPUs, with clang's directives instead of OpenMP's."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._short = False
        """Whether loops run over a few elements mostly."""

    def _block(self, block: Block) -> Iterator[str]:
        outside, self._short = self._short, self._short or block.short
        lines = list(super()._block(block))
        self._short = outside
        yield from lines

    def _loop(self, loop: Loop) -> Iterator[str]:
        if loop.unroll:
            yield from self._demanded(loop, self._body(loop), "#pragma clang loop unroll(full)")
        elif loop.vectors is None:
            yield from self._written(loop, self._body(loop))
        elif self._short:
            yield from self._demanded(loop, self._body(loop), self._demand(1, 1))
        elif loop.vectors.reductions:
            yield from self._folded(loop, loop.vectors.reductions[0])
        else:
            yield from self._in_vectors(loop, self._body(loop))

    def _body(self, loop: Loop) -> list[str]:
        return self.lines(loop.body)

    def _folded(self, loop: Loop, reduction: Reduction) -> Iterator[str]:
        """With sums in any order; the largest float as an integer, which clang folds in vectors."""
        name = reduction.name
        ordered = _by_order(loop.body, reduction)
        lines = list(self._in_vectors(loop, self.lines(ordered)))
        if ordered != loop.body:
            before = f"auto order_{name} = km::order({name});"
            lines = [before, *lines, f"{name} = km::from_order<decltype({name})>(order_{name});"]
        yield from ("{", "#pragma clang fp reassociate(on)", *indented(lines), "}")

    def _in_vectors(self, loop: Loop, body: Sequence[str]) -> Iterator[str]:
        """Whole vectors first, then what is left of them."""
        plan = self._plan
        demand = self._demand(plan.lmul, plan.unroll)
        if plan.tail in ("all-masked", "scalar"):
            masked = f"{demand}{_MASK}" if plan.tail == "all-masked" else demand
            yield from self._demanded(loop, body, masked)
            return
        masked = plan.tail == "masked"
        rest = f"{self._demand(plan.lmul, 1)}{_MASK}" if masked else self._demand(1, 1)
        whole = f"whole_{loop.variable}"
        group = plan.lmul * plan.unroll
        yield from (
            "{",
            f"const long {whole} = km::whole<{group}>({loop.start}, {loop.end});",
            *self._demanded(replace(loop, end=whole), body, demand),
            *self._demanded(replace(loop, start=whole), body, rest),
            "}",
        )

    def _demanded(self, loop: Loop, body: Sequence[str], demand: str) -> Iterator[str]:
        yield from (demand, *self._written(loop, body))

    def _demand(self, registers: int, vectors: int) -> str:
        """A register holds two floats for every 64 bits of it."""
        return (
            "#pragma clang loop vectorize(assume_safety) "
            f"vectorize_width({2 * registers}, scalable) interleave_count({vectors})"
        )


def _by_order(body: Statements, reduction: Reduction) -> Statements:
    """`m = x > m ? x : m` with the order of x in place of x."""
    return [_ordered(statement, reduction) for statement in body]


def _ordered(statement: Statement, reduction: Reduction) -> Statement:
    if reduction.op not in _FURTHER or not isinstance(statement, Assign):
        return statement
    element = _taken_if_further(statement, reduction)
    if element is None:
        return statement
    order, sign = f"order_{reduction.name}", _FURTHER[reduction.op].value.cpp
    return (
        f"{{ const auto here = km::order({cpp(element)}); "
        f"{order} = here {sign} {order} ? here : {order}; }}"
    )


def _taken_if_further(assign: Assign, reduction: Reduction) -> Expression | None:
    """The element of which the largest (or least) is kept; None where it is something else."""
    kept, value = Variable(reduction.name), assign.value
    if assign.target != kept or not isinstance(value, Apply):
        return None
    if value.operator is not Operator.SELECT:
        return None
    condition, element, otherwise = value.operands
    further = Apply(_FURTHER[reduction.op], (element, kept))
    return element if condition == further and otherwise == kept else None
