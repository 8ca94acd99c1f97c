"""Kernels of values that no loop nest makes element by element: scatters, bags and rankings."""

from collections.abc import Sequence

from kernelmill.generators.composer.ir.expressions import Element, Expression, Variable, apply
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import Index, add, product
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.values import Apart, Bags, Buffer, Ranking, Scatter, Value
from kernelmill.generators.composer.loops.cpp import cpp, ctype_of
from kernelmill.generators.composer.loops.decisions import SERIAL_BELOW
from kernelmill.generators.composer.loops.folds import FOLDS
from kernelmill.generators.composer.loops.scope import Scope
from kernelmill.generators.composer.loops.statements import (
    Assign,
    Block,
    If,
    Loop,
    Statement,
    Statements,
    Threads,
    Vectors,
)
from kernelmill.generators.composer.plan import Plan

_ROWS_AT_ONCE = 4
"""Rows of a bag: the memory of several is waited for together."""


def emit_apart(
    value: Apart, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    """The C++ of one of them. Raises Unfit for what must be stored before."""
    if isinstance(value, Scatter):
        return _emit_scatter(value, target, plan, stored)
    if isinstance(value, Bags):
        return _emit_bags(value, target, plan, stored)
    assert isinstance(value, Ranking)
    return _emit_ranking(value, target, plan, stored)


def _loops(root: Scope, shape: Sequence[Extent], prefix: str) -> list[Scope]:
    """A scope for the loop along each axis, behind the one that is around them."""
    scopes = [root]
    for axis in range(len(shape)):
        scopes.append(scopes[-1].child(f"{prefix}{axis}_"))
    return scopes


def _close(
    scopes: list[Scope],
    shape: Sequence[Extent],
    threads: Threads | None,
    innermost: Vectors | None = None,
) -> list[Statement]:
    for depth in range(len(shape), 0, -1):
        inner = scopes[depth]
        scopes[depth - 1].loop(
            inner.variables[0],
            shape[depth - 1].code,
            inner,
            vectors=innermost if 1 < depth == len(shape) else None,
            threads=threads if depth == 1 else None,
        )
    return scopes[0].lines


def _threads(plan: Plan, shape: Sequence[Extent]) -> Threads | None:
    worth = plan.parallel == "outer" and product(shape).value > SERIAL_BELOW
    return Threads() if worth else None


def _emit_scatter(
    value: Scatter, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    base, update, *places = value.inputs
    scopes = _loops(Scope(stored=stored), base.shape, "i")
    here = Index([f"i{axis}_" for axis in range(len(base.shape))])
    element = scopes[-1].value(base, here)
    at_home = Element(target.name, here.ravel(base.shape))
    scopes[-1].lines.append(Assign(at_home, element))
    lines = _close(scopes, base.shape, _threads(plan, base.shape))

    scopes = _loops(Scope(stored=stored), update.shape, "u")
    inner = scopes[-1]
    index = Index([f"u{axis}_" for axis in range(len(update.shape))])
    at = [inner.value(place, value.place_index(index)) for place in places]
    cell = value.target(index, at)
    threads = _threads(plan, update.shape)
    one_each = Variable("u0_") in cell.parts
    own = "" if one_each else _own_share(inner, cell, at, base) if threads else ""
    element = inner.value(update, index)
    stored_at = Element(target.name, cell.ravel(base.shape))
    combined = element if value.op == "set" else FOLDS[value.op].combined(stored_at, element)
    inner.lines.append(Assign(stored_at, combined))
    vectors = Vectors() if index.parts[-1] == cell.parts[-1] else None
    updates = _close(scopes, update.shape, threads if one_each else None, vectors)
    return [*lines, *(_in_every_thread(own, updates) if own else updates)]


def _own_share(scope: Scope, cell: Index, at: list[Expression], base: Value) -> str:
    """Updates may meet: every thread goes through all of them, and takes those of its own rows.

    Gives the number of rows; empty where no place is known inside of a loop.
    """
    home = scope.home(Index(at[:1]))
    if home.parent is None:
        return ""
    outside = apply(Operator.OR, at[0] < "first", at[0] >= "last")
    home.lines.append(If(outside, ["continue;"]))
    return base.shape[cell.parts.index(at[0])].code


def _in_every_thread(rows: str, lines: Statements) -> list[Statement]:
    own = [
        "const long thread = omp_get_thread_num(), threads = omp_get_num_threads();",
        f"const long first = ({rows}) * thread / threads;",
        f"const long last = ({rows}) * (thread + 1) / threads;",
    ]
    return ["#pragma omp parallel", Block("{", [*own, *lines])]


def _emit_bags(
    value: Bags, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    rows, starts, ends = value.inputs
    width = rows.shape[1].code
    root = Scope(stored=stored)
    bag = root.child("bag")
    first, last = (cpp(bag.value(bounds, Index(["bag"]))) for bounds in (starts, ends))
    bag.lines.append(f"{ctype_of(value.dtype)}* line = {target.name} + bag * {width};")
    bag.lines.append(Loop("c", width, ["line[c] = 0;"], in_line=True))
    bag.lines.append(f"long k = {first};")
    for count in (_ROWS_AT_ONCE, 1):
        some = bag.child("k")
        column = some.child("c")
        places = [add("k", step) for step in range(count)]
        terms = [cpp(column.value(rows, Index([place, "c"]))) for place in places]
        column.lines.append(f"line[c] += {' + '.join(terms)};")
        some.loop("c", width, column, vectors=Vectors())
        bag.lines.append(Block(f"for (; k + {count} <= {last}; k += {count}) {{", some.lines))
    root.loop("bag", value.shape[0].code, bag, threads=_threads(plan, rows.shape))
    return root.lines


def _emit_ranking(
    value: Ranking, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    source: Value = value.inputs[0]
    length = source.shape[value.axis].code
    outer = [extent for axis, extent in enumerate(source.shape) if axis != value.axis]
    scopes = _loops(Scope(stored=stored), outer, "i")
    names = [f"i{axis}_" for axis in range(len(outer))]

    def along(place: str) -> Index:
        return Index([*names[: value.axis], place, *names[value.axis :]])

    row = scopes[-1]
    row.lines.append(f"km::Row<{ctype_of(source.dtype)}> line({length});")
    room = f"2 * ({value.count.code}) + 16"
    row.lines.append(
        f"const km::Memory<std::pair<{ctype_of(source.dtype)}, int64_t>> best({room});"
    )
    filling = row.child("k")
    element = filling.value(source, along("k"))
    filling.lines.append(Assign(Element("line", Variable("k")), element))
    row.loop("k", length, filling, vectors=Vectors())
    # NaN counts as the greatest value.
    ahead = (
        "(a > b) | ((a != a) & (b == b))" if value.descending else "(a < b) | ((b != b) & (a == a))"
    )
    row.lines += [
        f"const auto ahead = [](auto a, auto b) {{ return {ahead}; }};",
        f"km::rank<{ctype_of(source.dtype)}>(line, {length}, best, {value.count.code}, ahead);",
    ]
    result = cpp(Element(target.name, along("k").ravel(value.shape)))
    taken = f"{result} = best[k].second;"
    row.lines.append(Loop("k", value.count.code, [taken], in_line=True))
    return _close(scopes, outer, _threads(plan, source.shape))
