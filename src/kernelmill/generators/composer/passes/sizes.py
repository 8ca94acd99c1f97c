"""Arithmetic on sizes that may be symbols."""

import re
from collections.abc import Sequence

from kernelmill.generators.composer.graph import Argument, Extent, Size, TensorSpec
from kernelmill.generators.composer.index import add, mul, sub

_LAST_NUMBER = re.compile(r"(.*) ([+-]) (\d+)")
ONE = Extent("1", 1)


def fixed(size: int) -> Extent:
    return Extent(str(size), size)


def longer(size: Extent, more: int) -> Extent:
    """A size with so many more, or fewer; not checked against zero."""
    value = size.value + more
    if size.fixed:
        return fixed(value)
    code = size.code
    if found := _LAST_NUMBER.fullmatch(code):
        code, sign, last = found.groups()
        more += int(f"{sign}{last}")
    return Extent(add(code, str(more)) if more >= 0 else sub(code, str(-more)), value)


def together(one: Extent, other: Extent) -> Extent:
    value = one.value + other.value
    return fixed(value) if one.fixed and other.fixed else Extent(add(one.code, other.code), value)


def at_least(size: Extent, least: int) -> Extent:
    value = max(size.value, least)
    return fixed(value) if size.fixed else Extent(f"larger({size.code}, {least})", value)


def at_most(size: Extent, most: int) -> Extent:
    value = min(size.value, most)
    return fixed(value) if size.fixed else Extent(f"smaller({size.code}, {most})", value)


def times(sizes: Sequence[Extent]) -> Extent:
    code, value = "1", 1
    for size in sizes:
        code, value = mul(code, size.code), value * size.value
    return fixed(value) if all(size.fixed for size in sizes) else Extent(code, value)


def quotient(size: Extent, divisor: int) -> Extent:
    """Rounded down."""
    if divisor == 1:
        return size
    value = size.value // divisor
    return fixed(value) if size.fixed else Extent(f"floordiv({size.code}, {divisor})", value)


def argument(size: Extent) -> Argument:
    """A size as an operator takes it."""
    return size.value if size.fixed else Size(size)


def is_one(size: Extent) -> bool:
    return size.code == "1"


def broadcast(*shapes: Sequence[Extent]) -> tuple[Extent, ...]:
    """The shape of an operator on single elements of tensors of these shapes."""
    rank = max(len(shape) for shape in shapes)
    sizes = [ONE] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            sizes[axis] = size if is_one(sizes[axis]) else sizes[axis]
    return tuple(sizes)


def elements(kind: TensorSpec) -> int:
    """How many a tensor has at the shown shape."""
    return times(kind.shape).value
