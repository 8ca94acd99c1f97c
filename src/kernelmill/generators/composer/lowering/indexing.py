"""Operators whose places come from data."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.graph import Extent, Node
from kernelmill.generators.composer.index import Index
from kernelmill.generators.composer.lowering.registry import Lowering, axes_of, broadcast, lowers
from kernelmill.generators.composer.values import Lookup, Map, Value


def _positive(place: Value, size: Extent) -> Value:
    code = f"({{0}} < 0 ? {{0}} + {size.code} : {{0}})"
    return Map(code, [place], place.dtype, place.shape)


@lowers("gather")
def _gather(lowering: Lowering, node: Node) -> Value:
    source, axis, place = node.arguments[:3]
    value, places = lowering.value(source), lowering.value(place)
    along = axes_of(axis, len(value.shape))[0]

    def remap(index: Index, at: list[str]) -> Index:
        parts = list(index.parts)
        parts[along] = at[0]
        return Index(parts)

    return Lookup(value, [places], node.results[0].shape, remap)


@lowers("embedding", "index_select")
def _rows(lowering: Lowering, node: Node) -> Value:
    if node.op.startswith("embedding"):
        value, places, along = (
            lowering.value(node.arguments[0]),
            lowering.value(node.arguments[1]),
            0,
        )
    else:
        value, places = lowering.value(node.arguments[0]), lowering.value(node.arguments[2])
        along = axes_of(node.arguments[1], len(value.shape))[0]
    rank = len(places.shape)

    def remap(index: Index, at: list[str]) -> Index:
        return Index([*index.parts[:along], at[0], *index.parts[along + rank :]])

    return Lookup(
        value, [places], node.results[0].shape, remap,
        lambda index: Index(index.parts[along : along + rank]),
    )  # fmt: skip


@lowers("index.Tensor", "_unsafe_index.Tensor")
def _index(lowering: Lowering, node: Node) -> Value:
    value = lowering.value(node.arguments[0])
    given = list(node.arguments[1]) + [None] * (len(value.shape) - len(node.arguments[1]))
    taken = [axis for axis, item in enumerate(given) if item is not None]
    if taken != list(range(taken[0], taken[-1] + 1)):
        raise Declined("indexing with tensors on axes that are not neighbours")
    places = [lowering.value(given[axis]) for axis in taken]
    common = _common([place.shape for place in places])
    spread = [
        broadcast(_positive(place, value.shape[axis]), common)
        for axis, place in zip(taken, places, strict=True)
    ]
    first, rank = taken[0], len(common)

    def remap(index: Index, at: list[str]) -> Index:
        return Index([*index.parts[:first], *at, *index.parts[first + rank :]])

    return Lookup(
        value, spread, node.results[0].shape, remap,
        lambda index: Index(index.parts[first : first + rank]),
    )  # fmt: skip


def _common(shapes: Sequence[Sequence[Extent]]) -> list[Extent]:
    rank = max(len(shape) for shape in shapes)
    result = [Extent("1", 1)] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent.code != "1":
                result[axis] = extent
    return result
