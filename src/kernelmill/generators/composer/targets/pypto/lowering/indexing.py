"""Rows and elements at places that are data."""

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.targets.pypto.held import Held
from kernelmill.generators.composer.targets.pypto.lowering.registry import Lowering, lowers
from kernelmill.generators.composer.targets.pypto.writer import DTYPES, Memory, count


def _rows(lowering: Lowering, table: Held, places: Held, node: Node) -> Held:
    """Rows of a table, one for every place."""
    if places.dtype not in ("int64", "int32"):
        raise Declined(f"aten.{node.op} at places of type {places.dtype}")
    table, places = (lowering.writer.contiguous(one) for one in (table, places))
    result = lowering.writer.allocate(node.results[0].shape, table.dtype)
    width = count(table.shape[1:])
    lowering.writer.launch(
        "index_select",
        ["y[:] = pypto.index_select(x0, 0, x1)"],
        [
            Memory(table.name, (host(table.shape[0].code), width), table.dtype),
            Memory(places.name, (count(places.shape),), places.dtype),
        ],
        Memory(result.name, (count(places.shape), width), table.dtype),
    )
    return result


@lowers("embedding")
def _embedding(lowering: Lowering, node: Node) -> Held:
    table, places = (lowering.value(argument) for argument in node.arguments[:2])
    return _rows(lowering, table, places, node)


@lowers("index_select")
def _index_select(lowering: Lowering, node: Node) -> Held:
    table, axis, places = node.arguments
    if axis != 0:
        raise Declined("aten.index_select along another axis than the first")
    return _rows(lowering, lowering.value(table), lowering.value(places), node)


@lowers("index.Tensor")
def _index(lowering: Lowering, node: Node) -> Held:
    table, places = node.arguments
    if places[0] is None or any(place is not None for place in places[1:]):
        raise Declined("aten.index along other axes than the first")
    return _rows(lowering, lowering.value(table), lowering.value(places[0]), node)


@lowers("gather")
def _gather(lowering: Lowering, node: Node) -> Held:
    """Along the last axis of a matrix, as PyPTO has it."""
    source, axis, places = node.arguments[:3]
    table, held = (lowering.writer.contiguous(lowering.value(one)) for one in (source, places))
    rank = len(table.shape)
    same = [one.code for one in table.shape[:-1]] == [one.code for one in held.shape[:-1]]
    if axis % rank != rank - 1 or held.dtype not in ("int64", "int32"):
        raise Declined("aten.gather along another axis than the last")
    if rank > 2 and not same:
        raise Declined("aten.gather from some of the rows of several axes")
    result = lowering.writer.allocate(held.shape, table.dtype)
    sizes = [(count(one.shape[:-1]), host(one.shape[-1].code)) for one in (table, held)]
    lowering.writer.launch(
        "gather",
        ["y[:] = pypto.gather(x0, 1, x1)"],
        [Memory(table.name, sizes[0], table.dtype), Memory(held.name, sizes[1], held.dtype)],
        Memory(result.name, sizes[1], table.dtype),
    )
    return result


@lowers("arange")
def _arange(lowering: Lowering, node: Node) -> Held:
    kind, given = node.results[0], node.arguments
    start = given[0] if len(given) > 1 else 0
    step = given[2] if len(given) > 2 else 1
    if kind.dtype not in ("int64", "int32", "float32") or step != 1 or not isinstance(start, int):
        raise Declined("aten.arange with a step, or from a size")
    return places(lowering, kind.shape[0], kind.dtype, start)


def places(lowering: Lowering, size: Extent, dtype: str, start: int = 0) -> Held:
    """The numbers from `start` on."""
    result = lowering.writer.allocate([size], dtype)
    length = host(size.code)
    value = f"pypto.arange({start}, {start} + n0, 1)"
    if dtype != "int32":
        value = f"pypto.cast({value}, pypto.{DTYPES[dtype]})"
    output = Memory(result.name, (length,), dtype)
    lowering.writer.launch("arange", [f"y[:] = {value}"], [], output, {"n0": length})
    return result
