"""Operators whose places come from data."""

from collections.abc import Callable, Sequence
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.expressions import (
    Argument,
    Cast,
    Expression,
    apply,
    select,
)
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.ir.index import ZERO, Index, add
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size as size_of
from kernelmill.generators.composer.ir.values import (
    Bags,
    Guarded,
    Literal,
    Lookup,
    Map,
    Ranking,
    Scatter,
    Value,
    View,
)
from kernelmill.generators.composer.lowering.reductions import kept, pointwise
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    axes_of,
    broadcast,
    extent_of,
    keyword,
    lowers,
)

_FOLDS = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min", "add": "sum"}


def _positive(place: Value, extent: Extent) -> Value:
    """Places counted from the end become places counted from the front."""
    x = Argument(0)
    return Map(select(x < 0, x + size_of(extent), x), [place], place.dtype, place.shape)


def _replaced(along: int) -> Callable[[Index, list[Expression]], Index]:
    """The same index, with the place of one axis taken from data."""

    def remap(index: Index, at: list[Expression]) -> Index:
        return Index([*index.parts[:along], at[0], *index.parts[along + 1 :]])

    return remap


def looked_up(value: Value, places: Value, along: int) -> Value:
    """`gather`: one place for every element of the result."""
    return Lookup(value, [places], places.shape, _replaced(along))


def rows(value: Value, places: Value, along: int, shape: Sequence[Extent]) -> Value:
    """`index_select` with places of any shape: whole rows."""
    rank = len(places.shape)

    def remap(index: Index, at: list[Expression]) -> Index:
        return Index([*index.parts[:along], at[0], *index.parts[along + rank :]])

    def place_index(index: Index) -> Index:
        return Index(index.parts[along : along + rank])

    return Lookup(value, [places], shape, remap, place_index)


@lowers("gather")
def _gather(lowering: Lowering, node: Node) -> Value:
    value, places = lowering.value(node.arguments[0]), lowering.value(node.arguments[2])
    if not value.shape:
        return value
    return looked_up(value, places, axes_of(node.arguments[1], len(value.shape))[0])


@lowers("embedding")
def _embedding(lowering: Lowering, node: Node) -> Value:
    table, places = (lowering.value(argument) for argument in node.arguments[:2])
    return rows(table, places, 0, node.results[0].shape)


@lowers("index_select")
def _index_select(lowering: Lowering, node: Node) -> Value:
    value, places = lowering.value(node.arguments[0]), lowering.value(node.arguments[2])
    along = axes_of(node.arguments[1], len(value.shape))[0]
    return rows(value, places, along, node.results[0].shape)


class _Picked:
    """`x[i, :, j]`: which axes are indexed by tensors, and where the result has their places."""

    def __init__(self, lowering: Lowering, value: Value, given: Sequence[Any]) -> None:
        given = [*given, *[None] * (len(value.shape) - len(given))]
        self._taken = [axis for axis, item in enumerate(given) if item is not None]
        places = [lowering.value(given[axis]) for axis in self._taken]
        if any(place.dtype in ("bool", "uint8") for place in places):
            raise Declined("indexing with a mask")
        self.common = _common([place.shape for place in places])
        self.places = [
            broadcast(_positive(place, value.shape[axis]), self.common)
            for axis, place in zip(self._taken, places, strict=True)
        ]
        neighbours = self._taken == list(range(self._taken[0], self._taken[-1] + 1))
        self._first = self._taken[0] if neighbours else 0
        self._rank = len(value.shape)

    def place_index(self, index: Index) -> Index:
        return Index(index.parts[self._first : self._first + len(self.common)])

    def source_index(self, index: Index, at: list[Expression]) -> Index:
        rest = iter([*index.parts[: self._first], *index.parts[self._first + len(self.common) :]])
        places = iter(at)
        return Index(
            [next(places) if axis in self._taken else next(rest) for axis in range(self._rank)]
        )

    def shape(self, value: Value) -> list[Extent]:
        rest = [extent for axis, extent in enumerate(value.shape) if axis not in self._taken]
        return [*rest[: self._first], *self.common, *rest[self._first :]]


@lowers("index.Tensor", "_unsafe_index.Tensor")
def _index(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    picked = _Picked(lowering, value, node.arguments[1])
    return Lookup(
        value, picked.places, node.results[0].shape, picked.source_index, picked.place_index
    )


@lowers("index_put", "_unsafe_index_put")
def _index_put(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    picked = _Picked(lowering, value, node.arguments[1])
    update = _filling(lowering.value(node.arguments[2]), picked.shape(value))
    op = "sum" if keyword(node, 3, "accumulate", False) else "set"
    return Scatter(value, update, picked.places, picked.source_index, picked.place_index, op)


def _filling(update: Value, shape: Sequence[Extent], in_part: bool = False) -> Value:
    """An update at the shape of its places: broadcast, or only its first elements."""
    if isinstance(update, Literal):
        return Literal(update.number, update.dtype, shape)
    return View(update, shape, lambda i: i) if in_part else broadcast(update, shape)


@lowers("scatter", "scatter_add", "scatter_reduce")
def _scatter(lowering: Lowering, node: Node) -> Value:
    source, axis, place, update = node.arguments[:4]
    base, places = lowering.value(source), lowering.value(place)
    if not base.shape:
        raise Declined(f"the operator aten.{node.op} on a single number")
    along = axes_of(axis, len(base.shape))[0]
    name = node.op.partition(".")[0]
    given = None if name == "scatter_add" else keyword(node, 4, "reduce")
    op = "sum" if name == "scatter_add" else "set" if given is None else _FOLDS.get(given, "")
    if not op or not keyword(node, 5, "include_self", True):
        raise Declined(f"the operator aten.{node.op} that folds by {given}")
    # The update may be larger than the places: only its first elements count.
    values = _filling(lowering.value(update, base.dtype), places.shape, in_part=True)
    return Scatter(base, values, [places], _replaced(along), op=op)


@lowers("topk", "sort")
def _sorted(lowering: Lowering, node: Node) -> list[Value]:
    value = lowering.value(node.arguments[0])
    rank = len(value.shape)
    if not rank:
        return [value, Literal(ZERO, "int64")]
    if node.op.startswith("topk"):
        axis = axes_of(keyword(node, 2, "dim", -1), rank)[0]
        count, descending = extent_of(node.arguments[1]), bool(keyword(node, 3, "largest", True))
    else:
        axis = axes_of(keyword(node, 1, "dim", -1), rank)[0]
        count, descending = value.shape[axis], bool(keyword(node, 2, "descending", False))
    ranking = Ranking(value, axis, count, descending)
    return [looked_up(value, ranking, axis), ranking]


@lowers("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(lowering: Lowering, node: Node) -> list[Value | None]:
    table, places, starts = (lowering.value(argument) for argument in node.arguments[:3])
    mode = int(keyword(node, 4, "mode", 0))
    weights = keyword(node, 6, "per_sample_weights")
    if keyword(node, 8, "padding_idx", -1) >= 0 or mode == 2:
        raise Declined("the operator aten._embedding_bag with a maximum or a padding index")
    kind = node.results[0]
    entries = rows(table, places, 0, [places.shape[0], table.shape[1]])
    if weights is not None:
        gain = kept(lowering.value(weights), entries.shape, [1])
        entries = pointwise(Argument(0) * Argument(1), entries, gain, shape=entries.shape)
    # Where the starts are one more than the bags, the last is an end.
    first = View(starts, kind.shape[:1], lambda i: i)
    end = Guarded(
        starts,
        kind.shape[:1],
        lambda i: Index([add(i[0], 1)]),
        lambda i: add(i[0], 1) < size_of(starts.shape[0]),
        otherwise=size_of(places.shape[0]),
    )
    total: Value = Bags(entries, first, end)
    if mode == 1:
        entered = apply(Operator.INTEGER_MAX, Argument(1) - Argument(0), 1)
        count = pointwise(
            Cast(total.dtype, entered), first, end, shape=first.shape, dtype=kind.dtype
        )
        total = pointwise(
            Argument(0) / Argument(1), total, kept(count, kind.shape, [1]), shape=kind.shape
        )
    return [total, None, None, None]


def _common(shapes: Sequence[Sequence[Extent]]) -> list[Extent]:
    rank = max(len(shape) for shape in shapes)
    result = [Extent("1", 1)] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent.code != "1":
                result[axis] = extent
    return result
