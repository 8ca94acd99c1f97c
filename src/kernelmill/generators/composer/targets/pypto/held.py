"""Tensors as forward holds them: memory under a name, and views of it that no kernel made yet."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kernelmill.generators.composer.ir.graph import Extent

Shape = tuple[Extent, ...]
ONE = Extent("1", 1)


class Held(msgspec.Struct, frozen=True):
    """A tensor, or a number that stands for one."""

    name: str
    """Variable of forward that holds contiguous memory; empty for a number."""
    memory: Shape
    """Sizes of that memory."""
    dtype: str
    shape: Shape
    """Sizes as the reference has them; where memory has one element, it is repeated."""
    order: tuple[int, ...]
    """Axis of the memory for every axis of the shape."""
    number: str = ""
    """Python code of a number."""

    @classmethod
    def stored(cls, name: str, shape: Sequence[Extent], dtype: str) -> "Held":
        sizes = tuple(shape)
        return cls(name, sizes, dtype, sizes, tuple(range(len(sizes))))

    @classmethod
    def of_number(cls, code: str, dtype: str, shape: Sequence[Extent] = ()) -> "Held":
        return cls("", (), dtype, tuple(shape), (), code)

    @property
    def turned(self) -> bool:
        """Whether its axes have another order than its memory."""
        return self.order != tuple(range(len(self.order)))

    @property
    def repeated(self) -> bool:
        return not self.number and any(
            size.code == "1" != wanted.code
            for size, wanted in zip(self.axes, self.shape, strict=True)
        )

    @property
    def axes(self) -> Shape:
        """Sizes of the memory in the order of the shape."""
        return tuple(self.memory[axis] for axis in self.order)

    @property
    def transposed(self) -> bool:
        """Whether it is memory whose last two axes are exchanged, and no more."""
        rank = len(self.order)
        swapped = (*range(rank - 2), rank - 1, rank - 2)
        return rank > 1 and self.order == swapped and not self.repeated


class AxisGroup(NamedTuple):
    """Neighbouring axes that all operands of an operator have, or all of which one repeats."""

    axes: tuple[int, ...]
    present: tuple[bool, ...]
    """For every operand, whether it has these axes."""


def group_axes(operands: Sequence[Shape], shape: Shape) -> list[AxisGroup]:
    """As few axes as broadcasting allows. All operands have the rank of the shape."""
    groups: list[AxisGroup] = []
    for axis, size in enumerate(shape):
        if size.code == "1":
            continue
        present = tuple(operand[axis].code != "1" for operand in operands)
        if groups and groups[-1].present == present:
            groups[-1] = AxisGroup((*groups[-1].axes, axis), present)
        else:
            groups.append(AxisGroup((axis,), present))
    return groups


def of_rank(shape: Shape, rank: int) -> Shape:
    return (ONE,) * (rank - len(shape)) + shape
