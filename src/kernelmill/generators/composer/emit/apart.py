"""Kernels of values that no loop nest can make element by element: scatters and rankings."""

from collections.abc import Sequence

from kernelmill.generators.composer.decisions import SERIAL_BELOW, Plan
from kernelmill.generators.composer.emit.folds import FOLDS
from kernelmill.generators.composer.emit.scope import Scope
from kernelmill.generators.composer.graph import Extent
from kernelmill.generators.composer.index import Index, product
from kernelmill.generators.composer.values import Apart, Buffer, Ranking, Scatter, Value


def emit_apart(value: Apart, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> list[str]:
    """The C++ of one of them. Raises Unfit for what must be stored before."""
    if isinstance(value, Scatter):
        return _emit_scatter(value, target, plan, stored)
    assert isinstance(value, Ranking)
    return _emit_ranking(value, target, plan, stored)


def _loops(root: Scope, shape: Sequence[Extent], prefix: str) -> tuple[list[Scope], list[str]]:
    scopes, heads = [root], []
    for axis, extent in enumerate(shape):
        name = f"{prefix}{axis}_"
        scopes.append(scopes[-1].child(name))
        heads.append(f"for (long {name} = 0; {name} < {extent.code}; ++{name})")
    return scopes, heads


def _close(scopes: list[Scope], heads: list[str], pragma: str) -> list[str]:
    for depth in range(len(heads), 0, -1):
        scopes[depth - 1].loop(heads[depth - 1], scopes[depth], pragma if depth == 1 else "")
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
    scopes[-1].lines.append(f"{target.name}[{here.ravel(base.shape)}] = {element};")
    lines = _close(scopes, heads, _pragma(plan, base.shape))

    scopes, heads = _loops(Scope(stored=stored), update.shape, "u")
    inner = scopes[-1]
    index = Index([f"u{axis}_" for axis in range(len(update.shape))])
    at = [inner.value(place, value.place_index(index)) for place in places]
    cell = f"{target.name}[{value.target(index, at).ravel(base.shape)}]"
    element = inner.value(update, index)
    combined = element if value.op == "set" else FOLDS[value.op].combine.format(cell, element)
    inner.lines.append(f"{cell} = {combined};")
    pragma = _pragma(plan, update.shape) if value.rows_apart else ""
    return lines + _close(scopes, heads, pragma)


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
    row.lines.append(f"std::vector<std::pair<{source.ctype}, int64_t>> line({length});")
    filling = row.child("k")
    element = filling.value(source, along("k"))
    filling.lines.append(f"line[k] = {{{element}, k}};")
    row.loop(f"for (long k = 0; k < {length}; ++k)", filling)
    sign = ">" if value.descending else "<"
    row.lines += [
        "const auto before = [](const auto& a, const auto& b) {",
        f"  return a.first {sign} b.first || (a.first == b.first && a.second < b.second);",
        "};",
        f"std::partial_sort(line.begin(), line.begin() + {value.count.code}, line.end(), before);",
    ]
    result = f"{target.name}[{along('k').ravel(value.shape)}]"
    row.lines.append(f"for (long k = 0; k < {value.count.code}; ++k) {result} = line[k].second;")
    return _close(scopes, heads, _pragma(plan, source.shape))
