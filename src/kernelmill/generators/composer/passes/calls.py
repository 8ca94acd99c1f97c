"""Operators that rewrites are made of, with the sizes of their results."""

from collections.abc import Sequence
from typing import Any

from kernelmill.generators.composer.ir.graph import Extent, Reference, TensorSpec
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.passes.editor import Editor
from kernelmill.generators.composer.passes.sizes import (
    ONE,
    argument,
    broadcast,
    fixed,
    is_one,
    longer,
    together,
)


def pointwise(editor: Editor, op: str, left: Any, right: Any) -> Reference:
    """`add`, `sub`, `mul` or `div` of tensors, or of a tensor and a number."""
    kinds = [editor.kind(one) for one in (left, right) if isinstance(one, Reference)]
    shape = broadcast(*(kind.shape for kind in kinds))
    return editor.call(f"{op}.Tensor", [left, right], TensorSpec(kinds[0].dtype, shape))


def rsqrt(editor: Editor, value: Reference) -> Reference:
    return editor.call("rsqrt", [value], editor.kind(value))


def reduced(editor: Editor, value: Reference, axes: Sequence[int], mean: bool) -> Reference:
    """The sum or the mean along axes, which stay with size one."""
    kind = editor.kind(value)
    if all(is_one(kind.shape[axis]) for axis in axes):
        return value
    node = editor.producer(value)
    if node is not None and node.op == "permute":  # as it lies in memory
        source, order = node.arguments[0], [axis % len(kind.shape) for axis in node.arguments[1]]
        inner = reduced(editor, source, [order[axis] for axis in axes], mean)
        return permute(editor, inner, order)
    shape = tuple(ONE if axis in axes else size for axis, size in enumerate(kind.shape))
    op = "mean.dim" if mean else "sum.dim_IntList"
    return editor.call(op, [value, sorted(axes), True], TensorSpec(kind.dtype, shape))


def view(editor: Editor, value: Reference, shape: Sequence[Extent]) -> Reference:
    kind = editor.kind(value)
    if tuple(shape) == kind.shape:
        return value
    sizes = [argument(size) for size in shape]
    return editor.call("view", [value, sizes], TensorSpec(kind.dtype, tuple(shape)))


def permute(editor: Editor, value: Reference, order: Sequence[int]) -> Reference:
    kind = editor.kind(value)
    if list(order) == list(range(len(order))):
        return value
    shape = tuple(kind.shape[axis] for axis in order)
    return editor.call("permute", [value, list(order)], TensorSpec(kind.dtype, shape))


def with_joined_axes(
    editor: Editor, value: Reference, groups: Sequence[Sequence[int]]
) -> Reference:
    """The axes in the order of the groups, those of a group as one."""
    shape = editor.kind(value).shape
    ordered = permute(editor, value, [axis for group in groups for axis in group])
    return view(editor, ordered, [product([shape[axis] for axis in group]) for group in groups])


def cut(editor: Editor, value: Reference, axis: int, front: int, back: int) -> Reference:
    """Without so many elements at the front of an axis, and at its back: some are left."""
    if front == 0 and back == 0:
        return value
    size = editor.kind(value).shape[axis]
    return sliced(editor, value, axis, fixed(front), longer(size, -front - back))


def sliced(editor: Editor, value: Reference, axis: int, start: Extent, size: Extent) -> Reference:
    """So many elements along an axis, from a start."""
    kind = editor.kind(value)
    end = longer(size, start.value) if start.fixed else together(start, size)
    shape = (*kind.shape[:axis], size, *kind.shape[axis + 1 :])
    arguments = [value, axis, argument(start), argument(end)]
    return editor.call("slice.Tensor", arguments, TensorSpec(kind.dtype, shape))


def joined(editor: Editor, parts: Sequence[Reference], axis: int) -> Reference:
    """Tensors of fixed size one after the other along an axis."""
    if len(parts) == 1:
        return parts[0]
    first = editor.kind(parts[0])
    size = fixed(sum(editor.kind(part).shape[axis].value for part in parts))
    shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
    return editor.call("cat", [list(parts), axis], TensorSpec(first.dtype, shape))


def matrix_product(editor: Editor, left: Reference, right: Reference) -> Reference:
    """Of matrices: `mm`, or `bmm` where there is an axis before."""
    one, other = editor.kind(left), editor.kind(right)
    shape = (*one.shape[:-1], other.shape[-1])
    op = "mm" if len(shape) == 2 else "bmm"
    return editor.call(op, [left, right], TensorSpec(one.dtype, shape))


def padded(editor: Editor, value: Reference, edges: Sequence[tuple[int, int]]) -> Reference:
    """With zeros before and behind the last axes; fewer than none cuts."""
    if not any(front or back for front, back in edges):
        return value
    kind = editor.kind(value)
    lead = len(kind.shape) - len(edges)
    sizes = [longer(size, sum(e)) for size, e in zip(kind.shape[lead:], edges, strict=True)]
    widths = [width for edge in reversed(edges) for width in edge]
    shape = (*kind.shape[:lead], *sizes)
    return editor.call("constant_pad_nd", [value, widths, 0.0], TensorSpec(kind.dtype, shape))


def flipped(editor: Editor, value: Reference, axes: Sequence[int]) -> Reference:
    """The other way round; an axis of size one has no other way."""
    kind = editor.kind(value)
    long = [axis for axis in axes if not is_one(kind.shape[axis])]
    return editor.call("flip", [value, long], kind) if long else value
