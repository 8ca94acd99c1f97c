"""Ranges of the integers among a kernel's inputs: outside of them a kernel may read foreign memory.

PyTorch raises where an index is out of range. What a reference accepts is asked of the reference
itself, with its example inputs: an index runs to the size of an axis.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

Accepts = Callable[[Sequence[torch.Tensor]], bool]


class IndexRange(NamedTuple):
    """The values that one tensor of integers may have."""

    number: int
    """Of the tensor."""
    least: int
    most: int
    axes: tuple[tuple[int, int], ...]
    """Tensors and their axes, each of which is longer than every value; then `most` is nothing."""

    def contains(self, tensors: Sequence[torch.Tensor]) -> bool:
        least, most = (int(one) for one in torch.aminmax(tensors[self.number]))
        if self.axes:
            limit = min(tensors[tensor].shape[axis] for tensor, axis in self.axes) - 1
        else:
            limit = self.most
        return self.least <= least and most <= limit


def find_ranges(tensors: Sequence[torch.Tensor], accepts: Accepts) -> tuple[IndexRange, ...]:
    """Of the tensors of one call, those of integers that may not have every value."""
    axes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, tensor in enumerate(tensors):
        for axis, size in enumerate(tensor.shape):
            axes[size].append((number, axis))
    return tuple(
        found
        for number, tensor in enumerate(tensors)
        if _holds_integers(tensor)
        if (found := _find(tensors, number, axes, accepts)) is not None
    )


def _holds_integers(tensor: torch.Tensor) -> bool:
    exact = not tensor.is_floating_point() and not tensor.is_complex()
    return exact and tensor.dtype is not torch.bool and tensor.numel() > 0


def _find(
    tensors: Sequence[torch.Tensor],
    number: int,
    axes: dict[int, list[tuple[int, int]]],
    accepts: Accepts,
) -> IndexRange | None:
    def holds(value: int) -> bool:
        changed = tensors[number].clone()
        changed.view(-1)[-1] = value
        return accepts([*tensors[:number], changed, *tensors[number + 1 :]])

    limits = torch.iinfo(tensors[number].dtype)
    if holds(limits.max) and holds(limits.min):
        return None
    least, most = (int(one) for one in torch.aminmax(tensors[number]))
    least = min(least, 0)
    for size in sorted((size for size in axes if size > most), reverse=True):
        if size - 1 <= limits.max and holds(size - 1):
            return IndexRange(number, least, most, tuple(axes[size]))
    return IndexRange(number, least, most, ())
