"""Index expressions, kept small: where in a tensor an element lies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelmill.generators.composer.ir.expressions import (
    Apply,
    Constant,
    Expression,
    Plain,
    Variable,
    applies,
    apply,
    expression,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.lazy import lazy
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import extent, size

EDGE = Variable("edge")
"""Zero, but the compiler does not know: with bounds it knows, GCC turns a masked load at an edge
into one that reads beyond it."""
ZERO, ONE = Constant(0), Constant(1)


def add(left: Plain, right: Plain) -> Expression:
    left, right = expression(left), expression(right)
    if ZERO in (left, right):
        return right if left == ZERO else left
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value + right.value)
    if isinstance(right, Apply) and right.operator in (Operator.ADD, Operator.SUB):
        first, second = right.operands  # sums are counted from the left
        return apply(right.operator, add(left, first), second)
    return left + right


def sub(left: Plain, right: Plain) -> Expression:
    left, right = expression(left), expression(right)
    if right == ZERO:
        return left
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value - right.value)
    if isinstance(right, Apply) and right.operator is Operator.SUB:
        first, second = right.operands
        if first == left and isinstance(second, Constant | Variable):
            return second
    return left - right


def mul(left: Plain, right: Plain) -> Expression:
    left, right = expression(left), expression(right)
    if ZERO in (left, right):
        return ZERO
    if ONE in (left, right):
        return right if left == ONE else left
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value * right.value)
    return left * right


def div(left: Plain, right: Plain) -> Expression:
    return expression(left) / right


def mod(left: Plain, right: Plain) -> Expression:
    return expression(left) % right


def divides(index: "Index") -> bool:
    """Whether a division is needed to know an index."""
    return any(applies(part, Operator.DIV, Operator.MOD) for part in index.parts)


def product(extents: Sequence[Extent]) -> Extent:
    tree: Expression = ONE
    value = 1
    for one in extents:
        tree, value = mul(tree, size(one)), value * one.value
    return extent(tree, value)


def _kept(plain: Plain) -> Expression:
    """As an expression; a joint index stays one."""
    return plain if isinstance(plain, Expression) else expression(plain)


def _joined(position: Expression, part: Expression, extent: Expression) -> Expression:
    """position * extent + part; what a division had taken apart comes together again."""
    inner = part.bare
    if isinstance(inner, Apply) and inner.operator is Operator.MOD:
        whole, divisor = inner.operands
        rest = _without(position, div(whole, divisor)) if divisor == extent else None
        if rest is not None:
            return add(mul(rest, extent), whole)
    return add(mul(position, extent), part)


def _without(position: Expression, last: Expression) -> Expression | None:
    """What is added to the last term of a sum; None where that is another."""
    if position == last:
        return ZERO
    if isinstance(position, Apply) and position.operator is Operator.ADD:
        rest, term = position.operands
        return rest if term == last else None
    return None


@dataclass(frozen=True, eq=False)
class Joint(Expression):
    """Several indices as one; taken apart along the same sizes, they are themselves again."""

    position: Expression
    parts: tuple[Expression, ...]
    extents: tuple[Expression, ...]

    @property
    def bare(self) -> Expression:
        return self.position

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.position.operands

    @lazy
    def names(self) -> frozenset[str]:
        return self.position.names

    def nodes(self) -> Iterator[Expression]:
        return self.position.nodes()

    @lazy
    def _hash(self) -> int:
        return hash(self.position)

    @classmethod
    def of(cls, parts: Sequence[Plain], extents: Sequence[Extent]) -> "Joint":
        index = Index(parts)
        return cls(index.ravel(extents), index.parts, tuple(size(one) for one in extents))


class Index:
    """Where in a tensor: one expression an axis."""

    def __init__(self, parts: Sequence[Plain]) -> None:
        self._parts = tuple(_kept(part) for part in parts)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self._parts

    @lazy
    def names(self) -> frozenset[str]:
        """All that must be known for it."""
        return frozenset().union(*(part.names for part in self.parts))

    def __getitem__(self, axis: int) -> Expression:
        return self.parts[axis]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Expression]:
        return iter(self.parts)

    @lazy
    def _hash(self) -> int:
        return hash(self.parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Index) and hash(self) == hash(other) and self.parts == other.parts

    def ravel(self, shape: Sequence[Extent]) -> Expression:
        """The position in row-major memory of this shape."""
        position: Expression = ZERO
        for part, one in zip(self.parts, shape, strict=True):
            position = _joined(position, part, size(one))
        return position


class Flat(Index):
    """A position in row-major order. Its parts cost divisions, and are made only when asked for."""

    def __init__(self, position: Plain, shape: Sequence[Extent]) -> None:
        self.position = expression(position)
        self._shape = tuple(shape)
        self.taken_apart = False

    @property
    def parts(self) -> tuple[Expression, ...]:
        self.taken_apart = True
        return unravel(self.position, self._shape)

    @lazy
    def names(self) -> frozenset[str]:
        return self.position.names

    def __len__(self) -> int:
        return len(self._shape)

    @lazy
    def _hash(self) -> int:
        return hash(self.position)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Flat)
            and self.position == other.position
            and self._shape == other._shape
        )

    def ravel(self, shape: Sequence[Extent]) -> Expression:
        if product(shape).code == product(self._shape).code or tuple(shape) == self._shape:
            return self.position
        return super().ravel(shape)


def unravel(position: Plain, shape: Sequence[Extent]) -> tuple[Expression, ...]:
    if isinstance(position, Joint) and position.extents == tuple(size(one) for one in shape):
        return position.parts
    rest = _kept(position)
    parts: list[Expression] = []
    for axis in range(len(shape) - 1, -1, -1):
        if shape[axis].code == "1":
            parts.append(ZERO)
        elif all(one.code == "1" for one in shape[:axis]):
            parts.append(rest)
            rest = ZERO
        else:
            parts.append(mod(rest, size(shape[axis])))
            rest = div(rest, size(shape[axis]))
    return tuple(reversed(parts))


def reshaped(index: Index, shape: Sequence[Extent], source: Sequence[Extent]) -> Index:
    """The index into `source` of an element of its reshape to `shape`."""
    if isinstance(index, Flat):
        return Flat(index.ravel(shape), source)
    groups = _matching(shape, source)
    if len(groups) == 1:
        return Flat(index.ravel(shape), source)
    parts: list[Expression] = []
    for ours, theirs in groups:
        inside = [index[axis] for axis in ours]
        position = inside[0] if len(ours) == 1 else Joint.of(inside, [shape[a] for a in ours])
        parts += unravel(position, [source[axis] for axis in theirs])
    return Index(parts)


def _matching(
    shape: Sequence[Extent], source: Sequence[Extent]
) -> list[tuple[list[int], list[int]]]:
    """Split both shapes into runs of axes that hold the same elements; one run if in doubt."""
    groups = []
    ours, theirs = 0, 0
    while ours < len(shape) or theirs < len(source):
        left, right = [ours] if ours < len(shape) else [], [theirs] if theirs < len(source) else []
        ours, theirs = ours + len(left), theirs + len(right)
        while not _same([shape[i] for i in left], [source[i] for i in right]):
            small = product([shape[i] for i in left]).value
            large = product([source[i] for i in right]).value
            if small <= large and ours < len(shape):
                left.append(ours)
                ours += 1
            elif theirs < len(source):
                right.append(theirs)
                theirs += 1
            else:
                return [(list(range(len(shape))), list(range(len(source))))]
        groups.append((left, right))
    return groups


def _same(left: Sequence[Extent], right: Sequence[Extent]) -> bool:
    """Whether both sides are the same product of sizes, as far as names tell."""
    if _factors(left) == _factors(right):
        return True
    known = all(e.fixed for e in (*left, *right))
    return known and product(left).value == product(right).value


def _factors(extents: Sequence[Extent]) -> list[str]:
    """The number and everything else that is multiplied, in order."""
    number, others = 1, []
    for one in extents:
        for factor in _multiplied(size(one)):
            if isinstance(factor, Constant):
                number *= int(factor.value)
            else:
                others.append(str(factor))
    return [str(number), *sorted(others)]


def _multiplied(tree: Expression) -> Iterator[Expression]:
    """The factors of a product; the expression itself where it is none."""
    if isinstance(tree, Apply) and tree.operator is Operator.MUL:
        for operand in tree.operands:
            yield from _multiplied(operand)
    else:
        yield tree
