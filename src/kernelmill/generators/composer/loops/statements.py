"""Statements of C++ kernels as data: what loops do, and what printers may make of them.

A printer for a target writes the loops, and demands vectors and threads in the target's own way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kernelmill.generators.composer.ir.expressions import Apply, Expression
from kernelmill.generators.composer.ir.operators import Operator


@dataclass(frozen=True)
class Let:
    """A name for a value."""

    ctype: str
    name: str
    value: Expression
    constant: bool = True


@dataclass(frozen=True)
class Assign:
    """A value put into a variable or into memory."""

    target: Expression
    value: Expression


@dataclass(frozen=True)
class Return:
    """The result of a function."""

    value: Expression


@dataclass(frozen=True)
class Call:
    """A call of the run time, which applies an operator to many elements."""

    text: str
    operator: Operator


@dataclass(frozen=True)
class If:
    """Statements that run only where a condition holds."""

    condition: Expression
    body: "Statements"


@dataclass(frozen=True)
class Block:
    """Statements between two lines of C++."""

    head: str
    body: "Statements"
    tail: str = "}"
    in_line: bool = False
    """Whether all of it is one line."""
    short: bool = False
    """Whether its loops run over a few elements mostly."""


class Reduction(NamedTuple):
    """A variable that the turns of a loop add up to."""

    op: str
    """What OpenMP calls it."""
    name: str


class Vectors(NamedTuple):
    """A demand for vectors."""

    width: int = 0
    """Elements to a vector, where that matters."""
    reductions: tuple[Reduction, ...] = ()


class Threads(NamedTuple):
    """A demand to share a loop among threads."""

    collapse: int = 1
    """How many loops inside of each other are shared."""
    reductions: tuple[Reduction, ...] = ()
    schedule: str = "static"


@dataclass(frozen=True)
class Loop:
    """A count from a start to an end."""

    variable: str
    end: str
    body: "Statements"
    start: str = "0"
    step: int = 1
    vectors: Vectors | None = None
    threads: Threads | None = None
    unroll: int = 0
    in_line: bool = False


Statement = str | Let | Assign | Call | Return | If | Block | Loop
"""Text is a statement that only C++ has words for."""
Statements = Sequence[Statement]


def expressions(statements: Statements) -> Iterator[Expression]:
    """All that is computed by statements and those inside of them."""
    for statement in walk(statements):
        match statement:
            case Let(value=value) | Return(value):
                yield value
            case Assign(target, value):
                yield from (target, value)
            case If(condition):
                yield condition


def operators(statements: Statements) -> set[Operator]:
    """All operators that statements apply."""
    nodes = (node for tree in expressions(statements) for node in tree.nodes())
    called = {one.operator for one in walk(statements) if isinstance(one, Call)}
    return called | {node.operator for node in nodes if isinstance(node, Apply)}


def walk(statements: Statements) -> Iterator[Statement]:
    """Statements, and those inside of them."""
    for statement in statements:
        yield statement
        if isinstance(statement, If | Block | Loop):
            yield from walk(statement.body)


def has_loop(statements: Statements) -> bool:
    return any(isinstance(statement, Loop) for statement in walk(statements))
