"""Loops for vectors: OpenMP's demands, said to clang with everything it would decide itself."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kernelmill.generators.composer.decisions import Plan

_DEMAND = re.compile(r"\s*#pragma omp (?:parallel for ?)?(simd)?.*")
_REDUCTION = re.compile(r"reduction\((\S+?):(\w+)\)")
_UNROLLED = re.compile(r"\s*#pragma GCC unroll \d+")
_HEAD = re.compile(r"(\s*)for \(long (\w+) = (.+); \2 < (.+); \+\+\2\) \{")
_EDGES = re.compile(r"(\s*)const auto careful = .*\{")
"""A function that is called for the edges of a window."""
_MASK = " vectorize_predicate(enable)"
_SIGNS = {"max": ">", "min": "<"}


class _Loop(NamedTuple):
    indent: str
    variable: str
    start: str
    end: str
    body: list[str]

    def written(self, start: str, end: str, demand: str) -> list[str]:
        name = self.variable
        head = f"{self.indent}for (long {name} = {start}; {name} < {end}; ++{name}) {{"
        return [demand, head, *self.body, f"{self.indent}}}"]


def directed(lines: list[str], plan: Plan) -> list[str]:
    """The same loops, with clang's directives instead of OpenMP's."""
    return list(_directed(iter(lines), plan))


def _directed(lines: Iterator[str], plan: Plan, few: bool = False) -> Iterator[str]:
    """`few`: the loops are over a few elements mostly."""
    for line in lines:
        demand = _DEMAND.fullmatch(line)
        if _UNROLLED.fullmatch(line):
            yield "#pragma clang loop unroll(full)"
        elif edges := _EDGES.fullmatch(line):
            end = f"{edges[1]}}};"
            yield from (line, *_directed(iter(_until(end, lines)), plan, few=True), end)
        elif demand is None:
            yield line
        elif demand[1]:
            loop = _read(lines)
            loop = loop._replace(body=list(_directed(iter(loop.body), plan, few)))
            reduction = _REDUCTION.search(line)
            if few:
                yield from loop.written(loop.start, loop.end, _demand(1, 1))
            elif reduction is None:
                yield from _in_vectors(loop, plan)
            else:
                yield from _folded(loop, reduction[1], reduction[2], plan)


def _read(lines: Iterator[str]) -> _Loop:
    head = _HEAD.fullmatch(next(lines))
    assert head is not None
    indent, variable, start, end = head.groups()
    return _Loop(indent, variable, start, end, _until(f"{indent}}}", lines))


def _until(end: str, lines: Iterator[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line == end:
            return found
        found.append(line)
    raise AssertionError("a block without an end")


def _folded(loop: _Loop, op: str, name: str, plan: Plan) -> list[str]:
    """With sums in any order; the largest float as an integer, which clang folds in vectors."""
    ordered = (
        [_by_order(line, name, _SIGNS[op]) for line in loop.body] if op in _SIGNS else loop.body
    )
    lines = _in_vectors(loop._replace(body=ordered), plan)
    if ordered != loop.body:
        before = f"auto order_{name} = km::order({name});"
        lines = [before, *lines, f"{name} = km::from_order<decltype({name})>(order_{name});"]
    indent = loop.indent
    inside = [line if line.startswith("#") else f"  {line}" for line in lines]
    return [f"{indent}{{", "#pragma clang fp reassociate(on)", *inside, f"{indent}}}"]


def _by_order(line: str, name: str, sign: str) -> str:
    """`m = x > m ? x : m` with the order of x in place of x."""
    choice = rf"(\s*){name} = (.+) {sign} {name} \? \2 : {name};"
    found = re.fullmatch(choice, line)
    if found is None:
        return line
    indent, element = found.groups()
    order = f"order_{name}"
    return (
        f"{indent}{{ const auto here = km::order({element}); "
        f"{order} = here {sign} {order} ? here : {order}; }}"
    )


def _in_vectors(loop: _Loop, plan: Plan) -> list[str]:
    """Whole vectors first, then what is left of them."""
    demand = _demand(plan.lmul, plan.unroll)
    if plan.tail == "all-masked":
        return loop.written(loop.start, loop.end, f"{demand}{_MASK}")
    if plan.tail == "scalar":
        return loop.written(loop.start, loop.end, demand)
    rest = f"{_demand(plan.lmul, 1)}{_MASK}" if plan.tail == "masked" else _demand(1, 1)
    whole = f"whole_{loop.variable}"
    group = plan.lmul * plan.unroll
    return [
        f"{loop.indent}{{",
        f"{loop.indent}const long {whole} = km::whole<{group}>({loop.start}, {loop.end});",
        *loop.written(loop.start, whole, demand),
        *loop.written(whole, loop.end, rest),
        f"{loop.indent}}}",
    ]


def _demand(registers: int, vectors: int) -> str:
    """A register holds two floats for every 64 bits of it."""
    return (
        "#pragma clang loop vectorize(assume_safety) "
        f"vectorize_width({2 * registers}, scalable) interleave_count({vectors})"
    )
