"""Scopes: the loops of a kernel while it is being written.

Every expression is written in the outermost scope where its index is known, and once: moving
invariants out of loops and sharing common parts is not a pass, it is how statements find their
place.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from kernelmill.generators.composer.ir.expressions import (
    Cast,
    Element,
    Expression,
    Variable,
    select,
)
from kernelmill.generators.composer.ir.index import Index
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Contract,
    Joined,
    Literal,
    Reduce,
    Scan,
    Unfit,
    Value,
)
from kernelmill.generators.composer.loops.cpp import ctype_of
from kernelmill.generators.composer.loops.statements import (
    Assign,
    If,
    Let,
    Loop,
    Statement,
    Threads,
    Vectors,
)

if TYPE_CHECKING:
    from kernelmill.generators.composer.loops.folds import Folding


class _Row(NamedTuple):
    """A row kept in memory: which axis runs along it, and the index on the others."""

    name: str
    axis: int
    rest: tuple[Expression, ...]


class Part(NamedTuple):
    """One of the values that were joined."""

    joined: Joined
    number: int


class Scope:
    """The body of one loop (or of the function)."""

    def __init__(
        self,
        parent: "Scope | None" = None,
        variables: tuple[str, ...] = (),
        lane: str = "",
        fence: bool = False,
        stored: dict[int, Buffer] | None = None,
    ) -> None:
        self.parent = parent
        self.lines: list[Statement] = []
        self.names = set(variables)
        self.variables = variables
        self.lane = lane
        """The variable of the vectorised loop, where this is one."""
        self.condition: Expression | None = None
        """What must hold where this scope's values are needed."""
        self._fence = fence
        """What stands behind a condition must not move before it."""
        self._memo: dict[tuple[int, Index], Expression] = {}
        self._rows: dict[int, _Row] = {}
        self._counter: Iterator[int] = parent._counter if parent else count()
        self.folding: Folding | None = parent.folding if parent else None
        self.contraction: Contract | None = parent.contraction if parent else None
        self.folds: int = parent.folds if parent else 0
        """How many folds this is inside of."""
        self.wide: bool = parent.wide if parent else False
        """Whether floats are computed in double: where they are few and much depends on them."""
        self.doubles: set[str] = parent.doubles if parent else set()
        """Names of floats that were."""
        self.joined: dict[str, Joined] = {}
        """What is joined along a loop of this scope, by variable."""
        self.parts: dict[str, Part] = {}
        """Loops of this scope that run over one part of it only."""
        self._kept: list[Value] = parent._kept if parent else []
        self._stored: dict[int, Buffer] = parent._stored if parent else stored or {}

    def child(self, *variables: str, lane: str = "") -> "Scope":
        return Scope(self, variables, lane)

    def value(self, value: Value, index: Index) -> Expression:
        """The element of a value as an expression, written where it belongs."""
        element = self._element(value, index)
        if not self.wide or value.dtype != "float32" or self._is_double(element):
            return element
        return Cast("float64", element)

    def _is_double(self, element: Expression) -> bool:
        if isinstance(element, Variable):
            return element.name in self.doubles
        return isinstance(element, Cast) and element.dtype == "float64"

    def _element(self, value: Value, index: Index) -> Expression:
        value = self._stored.get(id(value), value)
        kept = self._kept_row(value, index)
        if kept is not None:
            return kept
        if isinstance(value, Literal):
            return value.number
        home = self.home(index, beyond_lane=self._has_own_loop(value))
        key = (id(value), index)
        known = home._memo.get(key)
        if known is None:
            home._kept.append(value)  # ids are only unique while their owners live
            known = value.emit(self if isinstance(value, Scan) else home, index)
            home._memo[key] = known
        return known

    def _has_own_loop(self, value: Value) -> bool:
        if isinstance(value, Reduce):
            return not (value.window and self.folding is not None and self.folding.unrolled)
        return isinstance(value, Scan)

    def keep(self, value: Value, index: Index, variable: str, length: str) -> str:
        """Memory for one row of a value, for whoever needs it again in this scope."""
        name = self.fresh("row")
        self.lines.append(f"km::Row<{ctype_of(value.dtype)}> {name}({length});")
        axis = index.parts.index(Variable(variable))
        rest = index.parts[:axis] + index.parts[axis + 1 :]
        self._rows[id(value)] = _Row(name, axis, rest)
        return name

    def _kept_row(self, value: Value, index: Index) -> Expression | None:
        scope: Scope | None = self
        while scope is not None:
            row = scope._rows.get(id(value))
            if row is not None and len(index) == len(row.rest) + 1:
                parts = index.parts
                if parts[: row.axis] + parts[row.axis + 1 :] == row.rest:
                    return Element(row.name, parts[row.axis])
            scope = scope.parent
        return None

    def home(self, index: Index, beyond_lane: bool = False) -> "Scope":
        """The outermost scope in which everything the index names is known."""
        wanted = index.names
        scope = self
        while scope.parent is not None and not scope._fence:
            met = wanted & scope.names
            if met and not (beyond_lane and met == {scope.lane}):
                break
            scope = scope.parent
        return scope

    def clear(self) -> None:
        """Forget what was written in this scope; what moved out of it stays."""
        self.lines.clear()
        self._memo.clear()
        self._rows.clear()

    def fresh(self, prefix: str) -> str:
        name = f"{prefix}{next(self._counter)}"
        self.names.add(name)
        return name

    def define(self, dtype: str, value: Expression) -> Variable:
        return self._named(dtype, value, constant=True)

    def declare(self, dtype: str, value: Expression) -> Variable:
        """The same, to be assigned to."""
        return self._named(dtype, value, constant=False)

    def _named(self, dtype: str, value: Expression, constant: bool) -> Variable:
        name = self.fresh("t")
        if self.wide:
            dtype = "float64" if dtype == "float32" else dtype
            self.doubles.add(name)
        self.lines.append(Let(ctype_of(dtype), name, value, constant))
        return Variable(name)

    @contextmanager
    def guarded(self, condition: Expression | None) -> Iterator["Scope"]:
        inner = Scope(self, fence=True)
        inner.condition = condition
        yield inner

    def define_guarded(
        self, dtype: str, inner: "Scope", result: Expression, otherwise: Expression
    ) -> Variable:
        """A value that exists only where the condition of `inner` holds."""
        match inner.lines:
            case [Let(value=value, constant=True)] if inner.condition is not None:
                return self.define(dtype, select(inner.condition, value, Cast(dtype, otherwise)))
        name = self.declare(dtype, otherwise)
        self.assign_guarded(name, inner, result)
        return name

    def assign_guarded(self, name: Variable, inner: "Scope", result: Expression) -> None:
        assert inner.condition is not None
        self.lines.append(If(inner.condition, [*inner.lines, Assign(name, result)]))

    def loop(
        self,
        variable: str,
        end: str,
        body: "Scope",
        start: str = "0",
        step: int = 1,
        vectors: Vectors | None = None,
        threads: Threads | None = None,
        unroll: int = 0,
    ) -> None:
        lines = list(body.lines)
        self.lines.append(Loop(variable, end, lines, start, step, vectors, threads, unroll))

    def fold(self, value: Reduce, index: Index) -> Expression:
        if self.folding is None:
            raise Unfit(value)
        return self.folding.fold(self, value, index)

    def part(self, joined: Joined, place: Expression) -> int | None:
        """Which part a place is in, where a loop runs over that one only."""
        place = place.bare
        if not isinstance(place, Variable):
            return None
        scope: Scope | None = self
        while scope is not None and place.name not in scope.variables:
            scope = scope.parent
        if scope is None:
            return None
        if place.name not in scope.parts:
            scope.joined.setdefault(place.name, joined)
            return None
        known = scope.parts[place.name]
        return known.number if known.joined.starts == joined.starts else None

    def unfit(self, value: Value) -> Expression:
        raise Unfit(value)

    def contracted(self, value: Contract) -> Expression:
        """The accumulator of the contraction this scope is the epilogue of."""
        if value is not self.contraction:
            raise Unfit(value)
        return Variable("sum")

    def apart(self, value: Value) -> Expression:
        raise Unfit(value)

    def running(self, value: Scan, index: Index) -> Expression:
        if self.folding is None:
            raise Unfit(value)
        return self.folding.running(self, value, index)
