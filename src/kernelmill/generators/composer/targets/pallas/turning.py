"""The reference with its axes in the order in which the chip keeps its tensors.

Where all that is computed works on elements, or along axes by number, it can be done in any order
of them. Then nothing is copied: to turn a tensor to the way it is kept is to read it differently.
"""

from collections.abc import Sequence

from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.keeping import kept_order
from kernelmill.generators.composer.targets.pallas.lowering.registry import permute, reshape
from kernelmill.generators.composer.targets.pallas.tensors import (
    ONE,
    Broadcast,
    Fold,
    Iota,
    Kept,
    Map,
    Number,
    Reshape,
    Scan,
    Stored,
    Tensor,
    View,
    same_sizes,
)

_INDIFFERENT = Broadcast | Fold | Iota | Map | Number | Scan


def as_kept(outputs: Sequence[Tensor], plan: Plan) -> list[Tensor]:
    """The same results; computed in another order of axes where that saves copies."""
    inner = [_within_views(output) for output in outputs]
    shape = _common_shape(inner)
    order = kept_order(shape) if shape is not None else ()
    if list(order) == list(range(len(order))) or plan.handed != "as kept":
        return list(outputs)
    turning = _Turning(order)
    back = [order.index(axis) for axis in range(len(order))]
    turned = [Kept(turning.turned(tensor), back) for tensor in inner]
    return [reshape(tensor, output.shape) for tensor, output in zip(turned, outputs, strict=True)]


def _within_views(tensor: Tensor) -> Tensor:
    while isinstance(tensor, Reshape):
        tensor = tensor.inputs[0]
    return tensor


def _common_shape(roots: Sequence[Tensor]) -> Sequence[Extent] | None:
    """Of all large tensors; None where they differ, or something depends on the order of axes."""
    tensors = _computed(roots)
    rank = max(len(tensor.shape) for tensor in tensors)
    full = [tensor for tensor in tensors if _is_full(tensor, rank)]
    indifferent = all(isinstance(tensor, _INDIFFERENT) or _is_given(tensor) for tensor in tensors)
    alike = full and all(same_sizes(tensor.shape, full[0].shape) for tensor in full)
    rearranged = any(isinstance(tensor, View) for tensor in full)
    same_rank = all(len(root.shape) == rank for root in roots)
    return full[0].shape if indifferent and alike and same_rank and not rearranged else None


def _computed(roots: Sequence[Tensor]) -> list[Tensor]:
    """What the roots are made of, down to what the host has."""
    found: dict[int, Tensor] = {}
    waiting = list(roots)
    while waiting:
        tensor = waiting.pop()
        if id(tensor) not in found:
            found[id(tensor)] = tensor
            waiting += () if _is_given(tensor) else tensor.inputs
    return list(found.values())


def _is_given(tensor: Tensor) -> bool:
    """In memory, or a view of it."""
    while isinstance(tensor, View):
        tensor = tensor.inputs[0]
    return isinstance(tensor, Stored)


def _is_full(tensor: Tensor, rank: int) -> bool:
    """Whether it has an extent along every axis: what has not will be repeated, or was folded."""
    return len(tensor.shape) == rank and all(size.code != "1" for size in tensor.shape)


class _Turning:
    def __init__(self, order: Sequence[int]) -> None:
        self._order = tuple(order)
        self._done: dict[int, Tensor] = {}

    def turned(self, tensor: Tensor) -> Tensor:
        if id(tensor) not in self._done:
            self._done[id(tensor)] = self._turn(tensor)
        return self._done[id(tensor)]

    def _turn(self, tensor: Tensor) -> Tensor:
        if isinstance(tensor, Number) and not tensor.shape:
            return tensor
        shape = self._full(tensor.shape)
        turned = [shape[axis] for axis in self._order]
        match tensor:
            case Number():
                return Number(tensor.code, tensor.dtype, turned)
            case Iota():
                return Iota(turned, self._place(tensor, tensor.axis), tensor.dtype)
            case Map():
                inputs = [self.turned(source) for source in tensor.inputs]
                return Map(tensor.template, inputs, turned, tensor.dtype)
            case Broadcast():
                return Broadcast(self.turned(tensor.inputs[0]), turned)
            case Fold():
                axes = [self._place(tensor, axis) for axis in tensor.axes]
                return Fold(self.turned(tensor.inputs[0]), axes, tensor.op)
            case Scan():
                source = self.turned(tensor.inputs[0])
                return Scan(source, self._place(tensor, tensor.axis), tensor.op, tensor.backwards)
        return permute(reshape(tensor, shape), self._order)

    def _full(self, shape: Sequence[Extent]) -> list[Extent]:
        return [ONE] * (len(self._order) - len(shape)) + list(shape)

    def _place(self, tensor: Tensor, axis: int) -> int:
        return self._order.index(axis + len(self._order) - len(tensor.shape))
