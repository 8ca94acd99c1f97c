"""Arithmetic on sizes that may be symbols."""

from collections.abc import Sequence

from kernelmill.generators.composer.ir.expressions import Apply, Constant, apply
from kernelmill.generators.composer.ir.graph import Argument, Extent, Size, TensorSpec
from kernelmill.generators.composer.ir.index import add, product, sub
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import extent, size

ONE = Extent("1", 1)


def fixed(number: int) -> Extent:
    return Extent(str(number), number)


def longer(given: Extent, more: int) -> Extent:
    """A size with so many more, or fewer; not checked against zero."""
    value, tree = given.value + more, size(given)
    if isinstance(tree, Apply) and tree.operator in (Operator.ADD, Operator.SUB):
        rest, last = tree.operands
        if isinstance(last, Constant):
            more += int(last.value) if tree.operator is Operator.ADD else -int(last.value)
            tree = rest
    return extent(add(tree, more) if more >= 0 else sub(tree, -more), value)


def together(one: Extent, other: Extent) -> Extent:
    return extent(add(size(one), size(other)), one.value + other.value)


def at_least(given: Extent, least: int) -> Extent:
    value = max(given.value, least)
    if given.fixed:
        return fixed(value)
    return extent(apply(Operator.SIZE_MAX, size(given), least), value)


def at_most(given: Extent, most: int) -> Extent:
    value = min(given.value, most)
    if given.fixed:
        return fixed(value)
    return extent(apply(Operator.SIZE_MIN, size(given), most), value)


def quotient(given: Extent, divisor: int) -> Extent:
    """Rounded down."""
    if divisor == 1:
        return given
    value = given.value // divisor
    if given.fixed:
        return fixed(value)
    return extent(apply(Operator.SIZE_DIV, size(given), divisor), value)


def argument(given: Extent) -> Argument:
    """A size as an operator takes it."""
    return given.value if given.fixed else Size(given)


def is_one(given: Extent) -> bool:
    return given.code == "1"


def broadcast(*shapes: Sequence[Extent]) -> tuple[Extent, ...]:
    """The shape of an operator on single elements of tensors of these shapes."""
    rank = max(len(shape) for shape in shapes)
    sizes = [ONE] * rank
    for shape in shapes:
        for axis, given in enumerate(shape, rank - len(shape)):
            sizes[axis] = given if is_one(sizes[axis]) else sizes[axis]
    return tuple(sizes)


def elements(kind: TensorSpec) -> int:
    """How many a tensor has at the shown shape."""
    return product(kind.shape).value
