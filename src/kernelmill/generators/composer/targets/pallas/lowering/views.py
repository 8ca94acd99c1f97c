"""Views, and tensors put together."""

from collections.abc import Sequence
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.targets.pallas.lowering.products import unflattened
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    cast,
    extent_of,
    keyword,
    lowers,
    number,
    permute,
    reshape,
)
from kernelmill.generators.composer.targets.pallas.tensors import (
    ONE,
    Broadcast,
    Cut,
    Flip,
    Joined,
    Number,
    Padded,
    Scan,
    Tensor,
    same_sizes,
)


@lowers("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze")
def _view(lowering: Lowering, node: Node) -> Tensor:
    shape = node.results[0].shape
    tensor = lowering.value(node.arguments[0])
    return unflattened(tensor, shape) or reshape(tensor, shape)


@lowers("permute")
def _permute(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    rank = len(tensor.shape)
    return permute(tensor, [axis % rank for axis in node.arguments[1]])


@lowers("transpose", "t")
def _transpose(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    order = list(range(len(tensor.shape)))
    one, other = node.arguments[1:3] if node.op != "t" else (0, 1)
    order[one], order[other] = order[other], order[one]
    return permute(tensor, order)


@lowers("expand")
def _expand(lowering: Lowering, node: Node) -> Tensor:
    return expanded(lowering.value(node.arguments[0]), node.results[0].shape)


def expanded(tensor: Tensor, shape: Sequence[Extent]) -> Tensor:
    if isinstance(tensor, Broadcast):
        tensor = tensor.inputs[0]
    if isinstance(tensor, Number):
        return Number(tensor.code, tensor.dtype, shape)
    return tensor if same_sizes(tensor.shape, shape) else Broadcast(tensor, shape)


@lowers("repeat")
def _repeat(lowering: Lowering, node: Node) -> Tensor:
    tensor, times = lowering.value(node.arguments[0]), node.arguments[1]
    shape: list[Extent] = [ONE] * (len(times) - len(tensor.shape)) + list(tensor.shape)
    apart = [size for extent in shape for size in (ONE, extent)]
    wide = [
        size
        for count, extent in zip(times, shape, strict=True)
        for size in (extent_of(count), extent)
    ]
    return reshape(expanded(reshape(tensor, apart), wide), node.results[0].shape)


def _cut(tensor: Tensor, axis: int, start: str, extent: Extent) -> Tensor:
    if same_sizes([tensor.shape[axis]], [extent]):
        return tensor
    if isinstance(tensor, Number):
        shape = [extent if at == axis else size for at, size in enumerate(tensor.shape)]
        return Number(tensor.code, tensor.dtype, shape)
    return Cut(tensor, axis, start, extent)


@lowers("slice")
def _slice(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    axis = keyword(node, 1, "dim", 0) % max(1, len(tensor.shape))
    if keyword(node, 4, "step", 1) != 1:
        raise Declined("aten.slice with a step")
    start = _from_front(keyword(node, 2, "start") or 0, tensor.shape[axis])
    return _cut(tensor, axis, start, node.results[0].shape[axis])


def _from_front(place: Any, size: Extent) -> str:
    """A place that may be counted from the end."""
    if isinstance(place, int) and place < 0:
        return f"({host(size.code)} - {-place})"
    return number(place)


@lowers("select")
def _select(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    axis = node.arguments[1] % len(tensor.shape)
    start = _from_front(node.arguments[2], tensor.shape[axis])
    return reshape(_cut(tensor, axis, start, ONE), node.results[0].shape)


@lowers("split_with_sizes", "split")
def _split(lowering: Lowering, node: Node) -> list[Tensor]:
    tensor = lowering.value(node.arguments[0])
    axis = keyword(node, 2, "dim", 0) % len(tensor.shape)
    start, parts = "0", []
    for kind in node.results:
        parts.append(_cut(tensor, axis, start, kind.shape[axis]))
        start = f"{start} + {host(kind.shape[axis].code)}"
    return list(parts)


@lowers("cat")
def _cat(lowering: Lowering, node: Node) -> Tensor:
    shape = node.results[0].shape
    axis = keyword(node, 1, "dim", 0) % len(shape)
    parts = []
    for argument in node.arguments[0]:
        part = cast(lowering.value(argument), node.results[0].dtype)
        parts.append(Broadcast(part, part.shape) if isinstance(part, Number) else part)
    return Joined(parts, axis, shape[axis])


@lowers("constant_pad_nd")
def _pad(lowering: Lowering, node: Node) -> Tensor:
    tensor, given = lowering.value(node.arguments[0]), node.arguments[1]
    if not all(isinstance(edge, int) and edge >= 0 for edge in given):
        raise Declined("aten.constant_pad_nd that cuts, or by a size")
    pairs = list(zip(given[::2], given[1::2], strict=True))[::-1]
    edges = [(0, 0)] * (len(tensor.shape) - len(pairs)) + pairs
    filler = number(keyword(node, 2, "value", 0))
    return Padded(tensor, node.results[0].shape, edges, filler)


@lowers("flip")
def _flip(lowering: Lowering, node: Node) -> Tensor:
    """Around a running fold it only says where that begins."""
    tensor = lowering.value(node.arguments[0])
    axes = [axis % len(tensor.shape) for axis in node.arguments[1]]
    if isinstance(tensor, Scan) and axes == [tensor.axis]:
        before = tensor.inputs[0]
        if isinstance(before, Flip) and before.axis == tensor.axis:
            return Scan(before.inputs[0], tensor.axis, tensor.op, backwards=True)
    for axis in axes:
        tensor = Flip(tensor, axis)
    return tensor
