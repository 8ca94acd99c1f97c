"""Axis analysis: axes of a kernel's tensors that are the same, and whether they can be cut."""

from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Convolution,
    Cut,
    Fold,
    Joined,
    Map,
    Padded,
    Permute,
    Pool,
    Product,
    Reshape,
    Scan,
    Tensor,
    segments,
)


class Place(NamedTuple):
    """One axis of one tensor."""

    tensor: int
    """Its identity."""
    axis: int


class Axes:
    """Made of the tensors a kernel computes; those it reads are related through them.

    An axis is `whole` where an operator needs all of it at once, `folded` where a fold or a
    product makes it vanish: that can be done block by block.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._parents: dict[Place, Place] = {}
        self._extents: dict[Place, Extent] = {}
        self._whole: set[Place] = set()
        self._folded: set[Place] = set()
        for tensor in tensors:
            self._relate(tensor)
        for tensor in tensors:
            self._keep_repeated(tensor)

    def _keep_repeated(self, tensor: Tensor) -> None:
        """An axis that a tensor has twice (x times its transpose) cannot be cut."""
        places = [place for place in self.of(tensor) if place is not None]
        self._whole |= {place for place in places if places.count(place) > 1}

    def of(self, tensor: Tensor) -> list[Place | None]:
        """The axis at each place of a tensor; None where its size is one."""
        return [self.find(tensor, axis) for axis in range(len(tensor.shape))]

    def find(self, tensor: Tensor, axis: int) -> Place | None:
        extent = tensor.shape[axis]
        if extent.code == "1":
            return None
        place = Place(id(tensor), axis)
        self._extents.setdefault(place, extent)
        return self._root(place)

    def extent(self, place: Place) -> Extent:
        return self._extents[place]

    def is_whole(self, place: Place) -> bool:
        return any(self._root(one) == place for one in self._whole)

    def is_folded(self, place: Place) -> bool:
        return any(self._root(one) == place for one in self._folded)

    def _root(self, place: Place) -> Place:
        while (parent := self._parents.get(place, place)) != place:
            place = parent
        return place

    def _join(self, one: Tensor, axis: int, other: Tensor, place: int) -> None:
        left, right = self.find(one, axis), self.find(other, place)
        if left is not None and right is not None and left != right:
            self._parents[left] = right

    def _mark(self, marks: set[Place], tensor: Tensor, axis: int) -> None:
        place = self.find(tensor, axis)
        if place is not None:
            marks.add(place)

    def _relate(self, tensor: Tensor) -> None:
        if isinstance(tensor, Map | Broadcast):
            for source in tensor.inputs:
                shift = len(tensor.shape) - len(source.shape)
                for axis in range(len(source.shape)):
                    self._join(source, axis, tensor, axis + shift)
        elif isinstance(tensor, Product):
            self._relate_product(tensor)
        elif isinstance(tensor, Convolution):
            self._relate_convolution(tensor)
        elif isinstance(tensor, Reshape):
            self._relate_reshape(tensor)
        elif isinstance(tensor, Permute):
            for axis, before in enumerate(tensor.order):
                self._join(tensor.inputs[0], before, tensor, axis)
        elif isinstance(tensor, Fold):
            self._relate_along(tensor, tensor.axes, self._folded)
        elif isinstance(tensor, Cut | Joined | Scan):
            self._relate_along(tensor, [tensor.axis], self._whole)
        elif isinstance(tensor, Padded):
            padded = [axis for axis, edges in enumerate(tensor.edges) if edges != (0, 0)]
            self._relate_along(tensor, padded, self._whole)
        elif isinstance(tensor, Pool):
            rank = len(tensor.shape)
            self._relate_along(tensor, range(rank - len(tensor.slides), rank), self._whole)

    def _relate_along(self, tensor: Tensor, axes: Sequence[int], marks: set[Place]) -> None:
        """Axes of the same number are the same, but for those that the operator works along."""
        for source in tensor.inputs:
            for axis in range(len(source.shape)):
                if axis in axes:
                    self._mark(marks, source, axis)
                    self._mark(self._whole, tensor, axis)
                else:
                    self._join(source, axis, tensor, axis)

    def _relate_product(self, tensor: Product) -> None:
        left, right = tensor.inputs
        rank = len(tensor.shape)
        for source in tensor.inputs:
            shift = rank - len(source.shape)
            for axis in range(len(source.shape) - 2):
                self._join(source, axis, tensor, axis + shift)
        self._join(left, len(left.shape) - 2, tensor, rank - 2)
        self._join(right, len(right.shape) - 1, tensor, rank - 1)
        self._join(left, len(left.shape) - 1, right, len(right.shape) - 2)
        self._mark(self._folded, left, len(left.shape) - 1)

    def _relate_convolution(self, tensor: Convolution) -> None:
        """Images are apart; so are output channels, where they are not in groups."""
        image, weights = tensor.inputs
        self._join(image, 0, tensor, 0)
        channels = len(image.shape) - len(tensor.slides) - 1
        if tensor.groups == 1 or tensor.depthwise:
            self._join(weights, 0, tensor, 1)
        else:
            self._mark(self._whole, weights, 0)
            self._mark(self._whole, tensor, 1)
        self._mark(self._whole, weights, 1)
        for axis in range(1, len(image.shape)):
            if axis != channels or not tensor.depthwise:
                self._mark(self._whole, image, axis)
        if tensor.depthwise:
            self._join(image, channels, tensor, 1)
        for axis in range(2, len(tensor.shape)):
            self._mark(self._whole, tensor, axis)

    def _relate_reshape(self, tensor: Reshape) -> None:
        source = tensor.inputs[0]
        for segment in segments(source.shape, tensor.shape):
            if segment.plain:
                self._join(source, segment.before[0], tensor, segment.after[0])
                continue
            for axis in segment.before:
                self._mark(self._whole, source, axis)
            for axis in segment.after:
                self._mark(self._whole, tensor, axis)
