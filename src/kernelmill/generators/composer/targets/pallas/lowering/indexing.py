"""Elements at places that other tensors say: where a place is met, one is multiplied, else zero."""

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.ir.index import product as product_of
from kernelmill.generators.composer.targets.pallas.lowering.products import product
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    fold,
    keyword,
    lowers,
    pointwise,
    reshape,
)
from kernelmill.generators.composer.targets.pallas.tensors import ONE, Iota, Tensor


@lowers("gather")
def _gather(lowering: Lowering, node: Node) -> Tensor:
    """One element of every line."""
    tensor, places = lowering.value(node.arguments[0]), lowering.value(node.arguments[2])
    axis = node.arguments[1] % len(tensor.shape)
    if places.shape[axis].code != "1" or len(tensor.shape) != len(places.shape):
        raise Declined("aten.gather of several elements of a line")
    at = Iota(tensor.shape, axis)
    met = pointwise("jnp.where({0} == {1}, {2}, 0.0)", at, places, tensor, dtype=tensor.dtype)
    return fold(met, [axis], "sum")


def _hits(places: Tensor, size: Extent) -> Tensor:
    """[place, row]: one where the place is that row, counted from the end where negative."""
    code = "({0} == {1}).astype(jnp.float32)"
    flat = reshape(places, [product_of(places.shape), ONE])
    sound = pointwise(f"jnp.where({{0}} < 0, {{0}} + {host(size.code)}, {{0}})", flat)
    return pointwise(code, sound, Iota([ONE, size], 1), dtype="float32")


def _rows(table: Tensor, places: Tensor, node: Node) -> Tensor:
    if len(table.shape) != 2 or table.dtype != "float32":
        raise Declined(f"aten.{node.op} of a table that is no matrix of floats")
    return reshape(product(_hits(places, table.shape[0]), table), node.results[0].shape)


@lowers("embedding")
def _embedding(lowering: Lowering, node: Node) -> Tensor:
    table, places = (lowering.value(argument) for argument in node.arguments[:2])
    return _rows(table, places, node)


@lowers("index_select")
def _select(lowering: Lowering, node: Node) -> Tensor:
    table, axis, places = node.arguments
    if axis != 0:
        raise Declined("aten.index_select that is not of rows")
    return _rows(lowering.value(table), lowering.value(places), node)


@lowers("index.Tensor")
def _index(lowering: Lowering, node: Node) -> Tensor:
    table, places = node.arguments
    if len(places) != 1:
        raise Declined("aten.index.Tensor that is not of rows")
    return _rows(lowering.value(table), lowering.value(places[0]), node)


@lowers("index_put")
def _put(lowering: Lowering, node: Node) -> Tensor:
    """Rows added to rows."""
    base, places, values = node.arguments[:3]
    target, update = lowering.value(base), lowering.value(values)
    if not keyword(node, 3, "accumulate", False) or len(places) != 1 or len(target.shape) > 2:
        raise Declined("aten.index_put that does not add to rows")
    hits = _targets(lowering.value(places[0]), target.shape[0])
    if len(target.shape) == 2:
        return pointwise("{0} + {1}", product(hits, update), target)
    added = fold(pointwise("{0} * {1}", hits, _line(update)), [1], "sum")
    return pointwise("{0} + {1}", reshape(added, target.shape), target)


def _targets(places: Tensor, size: Extent) -> Tensor:
    """[row, place]: one where the place is that row."""
    line = reshape(places, [ONE, product_of(places.shape)])
    rows = Iota([size, ONE], 0)
    return pointwise("({0} == {1}).astype(jnp.float32)", rows, line, dtype="float32")


def _line(update: Tensor) -> Tensor:
    return reshape(update, [ONE, *update.shape])
