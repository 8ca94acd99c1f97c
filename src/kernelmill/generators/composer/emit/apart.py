"""Kernels of values that no loop nest makes element by element: scatters, bags and rankings."""

from collections.abc import Sequence

from kernelmill.generators.composer.decisions import SERIAL_BELOW, Plan
from kernelmill.generators.composer.emit.folds import FOLDS
from kernelmill.generators.composer.emit.scope import Scope
from kernelmill.generators.composer.graph import Extent
from kernelmill.generators.composer.index import Index, add, product
from kernelmill.generators.composer.ir.cpp import cpp
from kernelmill.generators.composer.ir.expressions import Element, Expression, Variable, apply
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.values import Apart, Bags, Buffer, Ranking, Scatter, Value

_ROWS_AT_ONCE = 4
"""Rows of a bag: the memory of several is waited for together."""


def emit_apart(value: Apart, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> list[str]:
    """The C++ of one of them. Raises Unfit for what must be stored before."""
    if isinstance(value, Scatter):
        return _emit_scatter(value, target, plan, stored)
    if isinstance(value, Bags):
        return _emit_bags(value, target, plan, stored)
    assert isinstance(value, Ranking)
    return _emit_ranking(value, target, plan, stored)


def _loops(root: Scope, shape: Sequence[Extent], prefix: str) -> tuple[list[Scope], list[str]]:
    scopes, heads = [root], []
    for axis, extent in enumerate(shape):
        name = f"{prefix}{axis}_"
        scopes.append(scopes[-1].child(name))
        heads.append(f"for (long {name} = 0; {name} < {extent.code}; ++{name})")
    return scopes, heads


def _close(scopes: list[Scope], heads: list[str], pragma: str, inner_pragma: str = "") -> list[str]:
    for depth in range(len(heads), 0, -1):
        here = pragma if depth == 1 else inner_pragma if depth == len(heads) else ""
        scopes[depth - 1].loop(heads[depth - 1], scopes[depth], here)
    return scopes[0].lines


def _pragma(plan: Plan, shape: Sequence[Extent]) -> str:
    worth = plan.parallel == "outer" and product(shape).value > SERIAL_BELOW
    return "#pragma omp parallel for schedule(static)" if worth else ""


def _emit_scatter(
    value: Scatter, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[str]:
    base, update, *places = value.inputs
    scopes, heads = _loops(Scope(stored=stored), base.shape, "i")
    here = Index([f"i{axis}_" for axis in range(len(base.shape))])
    element = scopes[-1].value(base, here)
    at_home = Element(target.name, here.ravel(base.shape))
    scopes[-1].lines.append(f"{cpp(at_home)} = {cpp(element)};")
    lines = _close(scopes, heads, _pragma(plan, base.shape))

    scopes, heads = _loops(Scope(stored=stored), update.shape, "u")
    inner = scopes[-1]
    index = Index([f"u{axis}_" for axis in range(len(update.shape))])
    at = [inner.value(place, value.place_index(index)) for place in places]
    cell = value.target(index, at)
    pragma = _pragma(plan, update.shape)
    one_each = Variable("u0_") in cell.parts
    own = "" if one_each else _own_share(inner, cell, at, base) if pragma else ""
    element = inner.value(update, index)
    stored_at = Element(target.name, cell.ravel(base.shape))
    combined = element if value.op == "set" else FOLDS[value.op].combined(stored_at, element)
    inner.lines.append(f"{cpp(stored_at)} = {cpp(combined)};")
    simd = "#pragma omp simd" if index.parts[-1] == cell.parts[-1] else ""
    updates = _close(scopes, heads, pragma if one_each else "", simd)
    return [*lines, *(_in_every_thread(own, updates) if own else updates)]


def _own_share(scope: Scope, cell: Index, at: list[Expression], base: Value) -> str:
    """Updates may meet: every thread goes through all of them, and takes those of its own rows.

    Gives the number of rows; empty where no place is known inside of a loop.
    """
    home = scope.home(Index(at[:1]))
    if home.parent is None:
        return ""
    outside = apply(Operator.OR, at[0] < "first", at[0] >= "last")
    home.lines.append(f"if ({cpp(outside)}) continue;")
    return base.shape[cell.parts.index(at[0])].code


def _in_every_thread(rows: str, lines: list[str]) -> list[str]:
    return [
        "#pragma omp parallel",
        "{",
        "  const long thread = omp_get_thread_num(), threads = omp_get_num_threads();",
        f"  const long first = ({rows}) * thread / threads;",
        f"  const long last = ({rows}) * (thread + 1) / threads;",
        *(line if line.startswith("#") else f"  {line}" for line in lines),
        "}",
    ]


def _emit_bags(value: Bags, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> list[str]:
    rows, starts, ends = value.inputs
    width = rows.shape[1].code
    root = Scope(stored=stored)
    bag = root.child("bag")
    first, last = (cpp(bag.value(bounds, Index(["bag"]))) for bounds in (starts, ends))
    each = f"for (long c = 0; c < {width}; ++c)"
    bag.lines.append(f"{value.ctype}* line = {target.name} + bag * {width};")
    bag.lines.append(f"{each} line[c] = 0;")
    bag.lines.append(f"long k = {first};")
    for count in (_ROWS_AT_ONCE, 1):
        some = bag.child("k")
        column = some.child("c")
        places = [add("k", step) for step in range(count)]
        terms = [cpp(column.value(rows, Index([place, "c"]))) for place in places]
        column.lines.append(f"line[c] += {' + '.join(terms)};")
        some.loop(each, column, "#pragma omp simd")
        bag.loop(f"for (; k + {count} <= {last}; k += {count})", some)
    head = f"for (long bag = 0; bag < {value.shape[0].code}; ++bag)"
    root.loop(head, bag, _pragma(plan, rows.shape))
    return root.lines


def _emit_ranking(
    value: Ranking, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[str]:
    source: Value = value.inputs[0]
    length = source.shape[value.axis].code
    outer = [extent for axis, extent in enumerate(source.shape) if axis != value.axis]
    scopes, heads = _loops(Scope(stored=stored), outer, "i")
    names = [f"i{axis}_" for axis in range(len(outer))]

    def along(place: str) -> Index:
        return Index([*names[: value.axis], place, *names[value.axis :]])

    row = scopes[-1]
    row.lines.append(f"km::Row<{source.ctype}> line({length});")
    room = f"2 * ({value.count.code}) + 16"
    row.lines.append(f"const km::Memory<std::pair<{source.ctype}, int64_t>> best({room});")
    filling = row.child("k")
    element = filling.value(source, along("k"))
    filling.lines.append(f"line[k] = {cpp(element)};")
    row.loop(f"for (long k = 0; k < {length}; ++k)", filling, "#pragma omp simd")
    # NaN counts as the greatest value.
    ahead = (
        "(a > b) | ((a != a) & (b == b))" if value.descending else "(a < b) | ((b != b) & (a == a))"
    )
    row.lines += [
        f"const auto ahead = [](auto a, auto b) {{ return {ahead}; }};",
        f"km::rank<{source.ctype}>(line, {length}, best, {value.count.code}, ahead);",
    ]
    result = cpp(Element(target.name, along("k").ravel(value.shape)))
    row.lines.append(f"for (long k = 0; k < {value.count.code}; ++k) {result} = best[k].second;")
    return _close(scopes, heads, _pragma(plan, source.shape))
