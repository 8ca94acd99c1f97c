"""Operators that only say where elements are."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.expressions import (
    Argument,
    Cast,
    Expression,
    Plain,
    apply,
    both,
    select,
)
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.ir.index import (
    EDGE,
    ZERO,
    Index,
    add,
    mod,
    mul,
    reshaped,
    sub,
)
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Coordinate,
    Guarded,
    Joined,
    Map,
    Value,
    View,
)
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    axes_of,
    broadcast,
    cast,
    extent_of,
    keyword,
    literal,
    lowers,
)


def reshape(value: Value, shape: Sequence[Extent]) -> Value:
    if tuple(shape) == value.shape:
        return value
    return View(value, shape, lambda index: reshaped(index, shape, value.shape), in_order=True)


@lowers("view", "reshape", "_unsafe_view", "unflatten", "flatten")
def _view(lowering: Lowering, node: Node) -> Value:
    if node.op == "view.dtype":
        raise Declined("the operator aten.view.dtype")
    return reshape(lowering.value(node.arguments[0]), node.results[0].shape)


@lowers("unsqueeze", "squeeze")
def _add_or_drop_axes(lowering: Lowering, node: Node) -> Value:
    value, shape = lowering.value(node.arguments[0]), node.results[0].shape
    rank = max(len(shape), len(value.shape))
    axes = axes_of(node.arguments[1], rank) if len(node.arguments) > 1 else None
    if node.op.startswith("unsqueeze"):
        assert axes is not None
        return View(
            value, shape, lambda i: Index([p for a, p in enumerate(i.parts) if a not in axes])
        )
    gone = [
        axis
        for axis, extent in enumerate(value.shape)
        if extent.code == "1" and (axes is None or axis in axes)
    ]

    def remap(index: Index) -> Index:
        parts = iter(index.parts)
        return Index([ZERO if axis in gone else next(parts) for axis in range(len(value.shape))])

    return View(value, shape, remap)


@lowers("permute", "t", "transpose")
def _permute(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    rank = len(value.shape)
    if node.op.startswith("permute"):
        order = [axis % rank for axis in node.arguments[1]]
    else:
        order = list(range(rank))
        one, other = node.arguments[1:3] if len(node.arguments) > 2 else (0, 1)
        order[one % rank], order[other % rank] = order[other % rank], order[one % rank]
    back = [order.index(axis) for axis in range(rank)]
    moved = [axis for axis in order if value.shape[axis].code != "1"]
    return View(
        value,
        node.results[0].shape,
        lambda i: Index([i[axis] for axis in back]),
        in_order=moved == sorted(moved),
    )


@lowers("expand")
def _expand(lowering: Lowering, node: Node) -> Value:
    return broadcast(lowering.value(node.arguments[0]), node.results[0].shape)


@lowers("repeat")
def _repeat(lowering: Lowering, node: Node) -> Value:
    value, shape = lowering.value(node.arguments[0]), node.results[0].shape
    missing = len(shape) - len(value.shape)

    def remap(index: Index) -> Index:
        parts = []
        for axis, extent in enumerate(value.shape):
            same = extent.code == shape[missing + axis].code
            part = index[missing + axis]
            parts.append(part if same else mod(part, size(extent)))
        return Index(parts)

    return View(value, shape, remap)


@lowers("slice")
def _slice(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    axis = axes_of(keyword(node, 1, "dim", 0), len(value.shape))[0]
    start = keyword(node, 2, "start", 0) or 0
    step = keyword(node, 4, "step", 1)
    place = extent_of(start)
    begin = size(place)
    if place.value < 0:
        begin = apply(Operator.SIZE_MAX, add(size(value.shape[axis]), begin), 0)
    return moved(value, node.results[0].shape, axis, step, begin)


def moved(value: Value, shape: Sequence[Extent], axis: int, step: int, begin: Plain) -> Value:
    def remap(index: Index) -> Index:
        parts = list(index.parts)
        parts[axis] = add(mul(parts[axis], step), begin)
        return Index(parts)

    return View(value, shape, remap)


@lowers("select")
def _select(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    axis = axes_of(node.arguments[1], len(value.shape))[0]
    place = extent_of(node.arguments[2])
    at = size(place) if place.value >= 0 else add(size(value.shape[axis]), size(place))
    return _taken(value, node.results[0].shape, axis, at)


@lowers("split_with_sizes", "split", "unbind", "chunk")
def _split(lowering: Lowering, node: Node) -> list[Value]:
    value = lowering.value(node.arguments[0])
    default = (
        keyword(node, 1, "dim", 0) if node.op.startswith("unbind") else keyword(node, 2, "dim", 0)
    )
    axis = axes_of(default, len(value.shape))[0]
    parts: list[Value] = []
    start: Expression = ZERO
    for number, kind in enumerate(node.results):
        if node.op.startswith("unbind"):
            parts.append(_taken(value, kind.shape, axis, number))
        else:
            parts.append(moved(value, kind.shape, axis, 1, start))
            start = add(start, size(kind.shape[axis]))
    return parts


def _taken(value: Value, shape: Sequence[Extent], axis: int, place: Plain) -> Value:
    return View(value, shape, lambda i: Index([*i.parts[:axis], place, *i.parts[axis:]]))


@lowers("flip")
def _flip(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    axes = axes_of(node.arguments[1], len(value.shape))

    def remap(index: Index) -> Index:
        return Index(
            [
                sub(sub(size(value.shape[axis]), 1), part) if axis in axes else part
                for axis, part in enumerate(index.parts)
            ]
        )

    return View(value, value.shape, remap)


@lowers("diagonal")
def _diagonal(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    rank = len(value.shape)
    shift = int(keyword(node, 1, "offset", 0))
    row, column = (
        keyword(node, at, name, at - 2) % rank for at, name in ((2, "dim1"), (3, "dim2"))
    )

    def remap(index: Index) -> Index:
        along, rest = index[rank - 2], iter(index.parts[: rank - 2])
        places = {row: add(along, max(-shift, 0)), column: add(along, max(shift, 0))}
        return Index([places[axis] if axis in places else next(rest) for axis in range(rank)])

    return View(value, node.results[0].shape, remap)


@lowers("unfold")
def _unfold(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    axis = axes_of(node.arguments[1], len(value.shape))[0]
    step = size(extent_of(node.arguments[3]))

    def remap(index: Index) -> Index:
        *parts, inside = index.parts
        parts[axis] = add(mul(parts[axis], step), inside)
        return Index(parts)

    return View(value, node.results[0].shape, remap)


@lowers("cat")
def _cat(lowering: Lowering, node: Node) -> Value:
    dtype = node.results[0].dtype
    given = [lowering.value(part) for part in node.arguments[0]]
    rank = len(node.results[0].shape)
    parts = [cast(part, dtype) for part in given if len(part.shape) == rank]
    axis = axes_of(keyword(node, 1, "dim", 0), len(node.results[0].shape))[0]
    starts: list[Expression] = [ZERO]
    for part in parts[:-1]:
        starts.append(add(starts[-1], size(part.shape[axis])))
    return Joined(parts, starts, node.results[0].shape, axis)


@lowers("constant_pad_nd")
def _pad(lowering: Lowering, node: Node) -> Value:
    value, shape = lowering.value(node.arguments[0]), node.results[0].shape
    widths = node.arguments[1]
    before: list[Expression] = [ZERO] * len(shape)
    for pair in range(len(widths) // 2):
        before[len(shape) - 1 - pair] = size(extent_of(widths[2 * pair]))
    filler = literal(keyword(node, 2, "value", 0) or 0, value.dtype)

    def remap(index: Index) -> Index:
        return Index([sub(part, b) for part, b in zip(index.parts, before, strict=True)])

    def inside(index: Index) -> Expression | None:
        tests = []
        for axis, part in enumerate(remap(index).parts):
            if before[axis] != ZERO or value.shape[axis].code != shape[axis].code:
                tests += [part >= EDGE, part < add(size(value.shape[axis]), EDGE)]
        return both(*tests)

    return Guarded(value, shape, remap, inside, filler)


@lowers("arange")
def _arange(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    start, step = (
        (0, 1) if len(node.arguments) == 1 else (node.arguments[0], keyword(node, 2, "step", 1))
    )
    counter = Coordinate(kind.shape, 0, kind.dtype)
    if (start, step) == (0, 1):
        return counter
    wide = "float64" if "float" in kind.dtype else "int64"
    place = literal(start, wide) + literal(step, wide) * Argument(0)
    return Map(Cast(kind.dtype, place), [counter], kind.dtype, kind.shape)


@lowers("triu", "tril")
def _triangle(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    diagonal = size(extent_of(keyword(node, 1, "diagonal", 0)))
    rank = len(value.shape)
    row, column = (Coordinate(value.shape, axis) for axis in (rank - 2, rank - 1))
    operator = Operator.GE if node.op.startswith("triu") else Operator.LE
    kept = apply(operator, Argument(1) - Argument(0), diagonal)
    return Map(select(kept, Argument(2), 0), [row, column, value], value.dtype, value.shape)


@lowers("eye")
def _eye(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    row, column = (Coordinate(kind.shape, axis) for axis in (0, 1))
    return Map(apply(Operator.EQ, Argument(0), Argument(1)), [row, column], kind.dtype, kind.shape)
