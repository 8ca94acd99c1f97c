"""The layout of a tensor that a TPU keeps between kernels.

In tiles of 8 by 128 (fewer than 8 where an axis is shorter), along the two axes that leave least of
them empty. A kernel that reads along others has it copied first.
"""

import math
from collections.abc import Sequence
from itertools import permutations

from kernelmill.generators.composer.ir.graph import Extent

_LANES, _SUBLANES = 128, 8


def kept_order(shape: Sequence[Extent]) -> tuple[int, ...]:
    """The axes from the outermost to the one along the lanes; by the shown sizes."""
    sizes = [extent.value for extent in shape]
    axes = range(len(sizes))
    if len(sizes) < 2:
        return tuple(axes)
    # Of equal ones, what is nearest to the tensor's own order.
    minor, second = min(permutations(reversed(axes), 2), key=lambda pair: _padded(sizes, *pair))
    return (*(axis for axis in axes if axis not in (minor, second)), second, minor)


def _padded(sizes: Sequence[int], minor: int, second: int) -> int:
    """Elements that it takes with these axes along lanes and sublanes."""
    rows = sizes[second]
    rows = _multiple(rows, _SUBLANES) if rows >= _SUBLANES else _power_of_two(rows)
    others = (size for axis, size in enumerate(sizes) if axis not in (minor, second))
    return math.prod(others) * rows * _multiple(sizes[minor], _LANES)


def _multiple(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()
