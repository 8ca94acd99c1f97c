"""Views, and tensors put together."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.lowering.registry import extent_of, keyword
from kernelmill.generators.composer.targets.pypto.held import ONE, Held
from kernelmill.generators.composer.targets.pypto.lowering.registry import Lowering, lowers, number
from kernelmill.generators.composer.targets.pypto.writer import Memory, count


def reshape(held: Held, shape: Sequence[Extent]) -> Held:
    """Of contiguous memory."""
    if held.number:
        return replace(held, shape=tuple(shape))
    return Held.stored(held.name, shape, held.dtype)


@lowers("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "flatten", "unflatten")
def _view(lowering: Lowering, node: Node) -> Held:
    held, shape = lowering.value(node.arguments[0]), node.results[0].shape
    if not held.number and _only_ones_differ(held.shape, shape):
        return _with_ones(held, shape)
    return reshape(held if held.number else lowering.writer.contiguous(held), shape)


def _only_ones_differ(before: Sequence[Extent], after: Sequence[Extent]) -> bool:
    wide = [size.code for size in before if size.code != "1"]
    return wide == [size.code for size in after if size.code != "1"]


def _with_ones(held: Held, shape: Sequence[Extent]) -> Held:
    """The same axes with others of size one between them: what is pending stays so."""
    axes = iter([axis for axis, size in enumerate(held.shape) if size.code != "1"])
    memory, order = list(held.memory), []
    for size in shape:
        if size.code == "1":
            order.append(len(memory))
            memory.append(ONE)
        else:
            order.append(held.order[next(axes)])
    kept = sorted(order)
    return replace(
        held,
        memory=tuple(memory[axis] for axis in kept),
        order=tuple(kept.index(axis) for axis in order),
        shape=tuple(shape),
    )


@lowers("permute", "transpose", "t")
def _permute(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    rank = len(held.shape)
    order = list(range(rank))
    if node.op.startswith("permute"):
        order = [axis % rank for axis in node.arguments[1]]
    elif rank > 1:
        one, other = node.arguments[1:3] if node.op.startswith("transpose") else (0, 1)
        order[one], order[other] = order[other], order[one]
    return permute(held, order)


def permute(held: Held, order: Sequence[int]) -> Held:
    shape = tuple(held.shape[axis] for axis in order)
    if held.number:
        return replace(held, shape=shape)
    return replace(held, shape=shape, order=tuple(held.order[axis] for axis in order))


@lowers("expand")
def _expand(lowering: Lowering, node: Node) -> Held:
    return expanded(lowering.value(node.arguments[0]), node.results[0].shape)


def expanded(held: Held, shape: Sequence[Extent]) -> Held:
    if held.number:
        return replace(held, shape=tuple(shape))
    more = len(shape) - len(held.shape)
    return replace(
        held,
        memory=(*[ONE] * more, *held.memory),
        order=(*range(more), *(axis + more for axis in held.order)),
        shape=tuple(shape),
    )


@lowers("repeat")
def _repeat(lowering: Lowering, node: Node) -> Held:
    held, times = lowering.value(node.arguments[0]), node.arguments[1]
    held = held if held.number else lowering.writer.contiguous(held)
    shape = [*[ONE] * (len(times) - len(held.shape)), *held.shape]
    apart = [size for extent in shape for size in (ONE, extent)]
    wide = [s for n, e in zip(times, shape, strict=True) for s in (extent_of(n), e)]
    repeated = lowering.writer.contiguous(expanded(reshape(held, apart), wide))
    return reshape(repeated, node.results[0].shape)


def cut(lowering: Lowering, held: Held, axis: int, start: str, extent: Extent) -> Held:
    """A stretch of one axis."""
    shape = [extent if at == axis else size for at, size in enumerate(held.shape)]
    if held.number:
        return replace(held, shape=tuple(shape))
    if held.shape[axis].code == extent.code and start == "0":
        return held
    held = lowering.writer.contiguous(held)
    lead, tail = count(held.shape[:axis]), count(held.shape[axis + 1 :])
    result = lowering.writer.allocate(shape, held.dtype)
    before = (lead, count(held.shape[axis : axis + 1]), tail)
    after = (lead, host(extent.code), tail)
    numbers = dict(zip(("n0", "n1", "n2"), after, strict=True)) | {"start": start}
    lowering.writer.launch(
        "cut",
        ["y[:] = pypto.view(x0, [n0, n1, n2], [0, start, 0])"],
        [Memory(held.name, before, held.dtype)],
        Memory(result.name, after, held.dtype),
        numbers,
    )
    return result


@lowers("slice")
def _slice(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    axis = keyword(node, 1, "dim", 0) % max(1, len(held.shape))
    if keyword(node, 4, "step", 1) != 1:
        return _every(lowering, node, held, axis)
    start = _from_front(keyword(node, 2, "start") or 0, held.shape[axis])
    return cut(lowering, held, axis, start, node.results[0].shape[axis])


def _every(lowering: Lowering, node: Node, held: Held, axis: int) -> Held:
    """Every so many elements of an axis, which are one column of the axis cut into rows."""
    step, start, size = (
        keyword(node, 4, "step", 1),
        keyword(node, 2, "start") or 0,
        held.shape[axis],
    )
    whole = node.results[0].shape[axis].value * step == size.value
    if not (size.fixed and whole and isinstance(start, int) and 0 <= start < step):
        raise Declined("aten.slice with a step that does not divide its axis")
    held = held if held.number else lowering.writer.contiguous(held)
    rows = [*held.shape[:axis], extent_of(size.value // step), extent_of(step)]
    apart = reshape(held, [*rows, *held.shape[axis + 1 :]])
    column = cut(lowering, apart, axis + 1, str(start), ONE)
    return reshape(column, node.results[0].shape)


def _from_front(place: Any, size: Extent) -> str:
    """A place that may be counted from the end."""
    if isinstance(place, int) and place < 0:
        return f"{host(size.code)} - {-place}"
    return number(place, "int64")


@lowers("select")
def _select(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    axis = node.arguments[1] % len(held.shape)
    start = _from_front(node.arguments[2], held.shape[axis])
    return reshape(cut(lowering, held, axis, start, ONE), node.results[0].shape)


@lowers("split_with_sizes", "split", "chunk")
def _split(lowering: Lowering, node: Node) -> list[Held]:
    held = lowering.value(node.arguments[0])
    axis = keyword(node, 2, "dim", 0) % len(held.shape)
    start, parts = "0", []
    for kind in node.results:
        parts.append(cut(lowering, held, axis, start, kind.shape[axis]))
        start = f"{start} + {host(kind.shape[axis].code)}"
    return parts


@lowers("unbind")
def _unbind(lowering: Lowering, node: Node) -> list[Held]:
    held = lowering.value(node.arguments[0])
    axis = keyword(node, 1, "dim", 0) % len(held.shape)
    return [
        reshape(cut(lowering, held, axis, str(at), ONE), kind.shape)
        for at, kind in enumerate(node.results)
    ]


@lowers("cat")
def _cat(lowering: Lowering, node: Node) -> Held:
    shape = node.results[0].shape
    axis = keyword(node, 1, "dim", 0) % len(shape)
    parts = [lowering.writer.contiguous(lowering.value(one)) for one in node.arguments[0]]
    return joined(lowering, parts, axis, shape)


def joined(lowering: Lowering, parts: Sequence[Held], axis: int, shape: Sequence[Extent]) -> Held:
    if len({part.dtype for part in parts}) > 1:
        raise Declined("aten.cat of several types")
    dtype = parts[0].dtype
    if dtype in ("bool", "int64"):
        raise Declined(f"aten.cat of {dtype}")
    result = lowering.writer.allocate(shape, dtype)
    lead, tail = count(shape[:axis]), count(shape[axis + 1 :])
    given = [Memory(p.name, (lead, count(p.shape[axis : axis + 1]), tail), dtype) for p in parts]
    names = ", ".join(f"x{at}" for at in range(len(parts)))
    lowering.writer.launch(
        "concat",
        [f"y[:] = pypto.concat([{names}], 1)"],
        given,
        Memory(result.name, (lead, host(shape[axis].code), tail), dtype),
    )
    return result


@lowers("constant_pad_nd")
def _pad(lowering: Lowering, node: Node) -> Held:
    """One edge after the other, joined to the rest."""
    held, given = lowering.value(node.arguments[0]), node.arguments[1]
    if not all(isinstance(edge, int) and edge >= 0 for edge in given):
        raise Declined("aten.constant_pad_nd that cuts, or by a size")
    filler = number(keyword(node, 2, "value", 0), held.dtype)
    held = lowering.writer.contiguous(held)
    for pair, (before, after) in enumerate(zip(given[::2], given[1::2], strict=True)):
        axis = len(held.shape) - 1 - pair
        if not before and not after:
            continue
        shape = [node.results[0].shape[axis] if at == axis else size
                 for at, size in enumerate(held.shape)]  # fmt: skip
        parts = [_edge(lowering, held, axis, before, filler), held,
                 _edge(lowering, held, axis, after, filler)]  # fmt: skip
        held = joined(lowering, [part for part in parts if part is not None], axis, shape)
    return held


def _edge(lowering: Lowering, held: Held, axis: int, width: int, filler: str) -> Held | None:
    if not width:
        return None
    shape = [extent_of(width) if at == axis else size for at, size in enumerate(held.shape)]
    return lowering.writer.contiguous(Held.of_number(filler, held.dtype, shape))
