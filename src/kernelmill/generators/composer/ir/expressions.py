"""Scalar expressions as trees: what one element is, and the index at which it lies.

Trees never change, and equal trees are equal keys. `str` prints the readable form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kernelmill.generators.composer.ir.lazy import lazy
from kernelmill.generators.composer.ir.operators import Operator

INDEX = "index"
"""The type of sizes and indices: an integer as wide as a target needs."""


class Expression:
    """A node of a tree. Operands are nodes as well."""

    @property
    def bare(self) -> "Expression":
        """The same without what only an index knows of it."""
        return self

    @property
    def operands(self) -> tuple["Expression", ...]:
        return ()

    @lazy
    def names(self) -> frozenset[str]:
        """Names of the variables and the memory in it."""
        return frozenset().union(*(operand.names for operand in self.operands))

    def nodes(self) -> Iterator["Expression"]:
        """All of them, the outermost first."""
        yield self
        for operand in self.operands:
            yield from operand.nodes()

    def with_operands(self, operands: Sequence["Expression"]) -> "Expression":
        """The same node with other operands."""
        return self

    def replaced(self, wanted: "Expression", other: "Expression") -> "Expression":
        """The same tree with another in place of every occurrence of one."""
        if self == wanted:
            return other
        if not self.operands:
            return self
        return self.with_operands([one.replaced(wanted, other) for one in self.operands])

    @lazy
    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    @lazy
    def _hash(self) -> int:
        return hash((type(self), self._key))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        ours, theirs = self.bare, other.bare
        if ours is theirs:
            return True
        same = type(ours) is type(theirs) and ours._hash == theirs._hash
        return same and ours._key == theirs._key

    def __add__(self, other: "Plain") -> "Expression":
        return apply(Operator.ADD, self, other)

    def __sub__(self, other: "Plain") -> "Expression":
        return apply(Operator.SUB, self, other)

    def __rsub__(self, other: "Plain") -> "Expression":
        return apply(Operator.SUB, other, self)

    def __mul__(self, other: "Plain") -> "Expression":
        return apply(Operator.MUL, self, other)

    def __truediv__(self, other: "Plain") -> "Expression":
        return apply(Operator.DIV, self, other)

    def __rtruediv__(self, other: "Plain") -> "Expression":
        return apply(Operator.DIV, other, self)

    def __mod__(self, other: "Plain") -> "Expression":
        return apply(Operator.MOD, self, other)

    def __neg__(self) -> "Expression":
        return apply(Operator.NEG, self)

    def __lt__(self, other: "Plain") -> "Expression":
        return apply(Operator.LT, self, other)

    def __le__(self, other: "Plain") -> "Expression":
        return apply(Operator.LE, self, other)

    def __gt__(self, other: "Plain") -> "Expression":
        return apply(Operator.GT, self, other)

    def __ge__(self, other: "Plain") -> "Expression":
        return apply(Operator.GE, self, other)

    def __str__(self) -> str:
        from kernelmill.generators.composer.ir.printing import readable  # it knows every node

        return readable(self)


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """A number of a type; of the type `index` where it counts places."""

    value: float
    dtype: str = INDEX

    @lazy
    def _key(self) -> tuple[Any, ...]:
        return repr(self.value), self.dtype  # 0.0 is not -0.0, and NaN is itself


LARGEST_PLACE = Constant(2**63 - 1, "int64")
"""Beyond every place of a tensor."""


@dataclass(frozen=True, eq=False)
class Variable(Expression):
    """A name of the kernel: a loop's variable, a value that was computed before, a size."""

    name: str

    @lazy
    def names(self) -> frozenset[str]:
        return frozenset({self.name})


@dataclass(frozen=True, eq=False)
class Argument(Expression):
    """An operand of a function of elements, by its number."""

    number: int


@dataclass(frozen=True, eq=False)
class Apply(Expression):
    """An operator and its operands."""

    operator: Operator
    given: tuple[Expression, ...]

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.given

    def with_operands(self, operands: Sequence[Expression]) -> Expression:
        return Apply(self.operator, tuple(operands))


@dataclass(frozen=True, eq=False)
class Cast(Expression):
    """A number as another type."""

    dtype: str
    operand: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def with_operands(self, operands: Sequence[Expression]) -> Expression:
        return Cast(self.dtype, *operands)


@dataclass(frozen=True, eq=False)
class Element(Expression):
    """One element of memory."""

    memory: str
    place: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.place,)

    @lazy
    def names(self) -> frozenset[str]:
        return self.place.names | {self.memory}

    def with_operands(self, operands: Sequence[Expression]) -> Expression:
        return Element(self.memory, *operands)


Plain = Expression | str | int
"""An expression, or what stands for one: a variable's name, or an integer (as text, too)."""


def expression(plain: Plain) -> Expression:
    if isinstance(plain, Expression):
        return plain.bare
    if isinstance(plain, int):
        return Constant(plain)
    if plain.isidentifier():
        return Variable(plain)
    return Constant(int(plain))


def apply(operator: Operator, *operands: Plain) -> Expression:
    return Apply(operator, tuple(expression(operand) for operand in operands))


def select(condition: Expression, chosen: Plain, otherwise: Plain) -> Expression:
    return apply(Operator.SELECT, condition, chosen, otherwise)


def both(*conditions: Expression) -> Expression | None:
    """All of them at once; None where there are none."""
    joined: Expression | None = None
    for condition in conditions:
        joined = condition if joined is None else apply(Operator.AND, joined, condition)
    return joined


def filled(function: Expression, arguments: Sequence[Expression]) -> Expression:
    """A function of elements with its arguments in place."""
    if isinstance(function, Argument):
        return arguments[function.number]
    if not function.operands:
        return function
    return function.with_operands([filled(one, arguments) for one in function.operands])


def applies(tree: Expression, *operators: Operator) -> bool:
    """Whether one of these operators is in a tree."""
    return any(isinstance(node, Apply) and node.operator in operators for node in tree.nodes())
