"""Folds over tiles: how partial results begin, grow, and become one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product as combinations
from typing import NamedTuple

from kernelmill.generators.composer.host.language import Term
from kernelmill.generators.composer.ir.expressions import (
    Constant,
    Expression,
    Plain,
    Variable,
    both,
)
from kernelmill.generators.composer.ir.index import Index, add, mul, product, sub
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Guarded,
    Map,
    Reduce,
    Unfit,
    Value,
    View,
)
from kernelmill.generators.composer.targets.triton.scope import Scope, Tile

_MOST_UNROLLED = 64
"""Places of a window that are written one after the other; more become a loop."""
_MOST_NAMES = 128
"""Intermediate results of a window that is written so."""


class State(NamedTuple):
    """One number of a partial result."""

    start: str
    dtype: str


class Form(ABC):
    """How partial results begin, grow and become one; each consists of one or more states."""

    @abstractmethod
    def states(self, dtype: str) -> list[State]:
        """What a partial result of elements of this type consists of, before the first one."""

    @abstractmethod
    def lift(self, element: str, tile: Tile) -> list[str]:
        """A tile of elements as partial results of one element each."""

    @abstractmethod
    def join(self, ours: list[str], theirs: list[str]) -> str:
        """Two partial results as one, element by element."""

    @abstractmethod
    def whole(self, states: list[str]) -> str:
        """A tile of partial results as one, along its last axis."""

    def result(self, states: list[str]) -> str:
        """What the fold is."""
        return states[0]


class _Plain(Form):
    """A fold of numbers by an operation that needs no more than them."""

    def __init__(self, start: str, join: str, whole: str) -> None:
        self._start, self._join, self._whole = start, join, whole

    def states(self, dtype: str) -> list[State]:
        return [State(self._neutral(dtype), dtype)]

    def lift(self, element: str, tile: Tile) -> list[str]:
        return [element]

    def join(self, ours: list[str], theirs: list[str]) -> str:
        return self._join.format(*ours, *theirs)

    def whole(self, states: list[str]) -> str:
        return self._whole.format(*states)

    def _neutral(self, dtype: str) -> str:
        if not self._start.endswith("inf"):
            return f"{self._start}.0" if "float" in dtype else self._start
        negative = self._start.startswith("-")
        if "float" in dtype:
            return '-float("inf")' if negative else 'float("inf")'
        limit = _LIMITS[dtype]
        return str(limit) if not negative else str(-limit - 1) if dtype != "uint8" else "0"


class _Places(Form):
    """Where the extreme element is; the first place where several are equal."""

    def __init__(self, function: str, start: str) -> None:
        self._function = function
        self._values = _Plain(start, "", "")

    def states(self, dtype: str) -> list[State]:
        return [*self._values.states(dtype), State(str(2**31 - 1), "int32")]

    def lift(self, element: str, tile: Tile) -> list[str]:
        return [element, tile.name]

    def join(self, ours: list[str], theirs: list[str]) -> str:
        return f"{self._function}({', '.join([*ours, *theirs])})"

    def whole(self, states: list[str]) -> str:
        return f"tl.reduce(({', '.join(states)}), 1, {self._function}, keep_dims=True)"

    def result(self, states: list[str]) -> str:
        return states[1]


class _Spread(Form):
    """The sum of squared distances from the mean, in one pass: count, mean, and that sum."""

    def states(self, dtype: str) -> list[State]:
        return [State("0.0", dtype)] * 3

    def lift(self, element: str, tile: Tile) -> list[str]:
        return [f"tl.cast({tile.mask}, tl.float32)", element, "0.0"]

    def join(self, ours: list[str], theirs: list[str]) -> str:
        return f"join_spread({', '.join([*ours, *theirs])})"

    def whole(self, states: list[str]) -> str:
        return f"tl.reduce(({', '.join(states)}), 1, join_spread, keep_dims=True)"

    def result(self, states: list[str]) -> str:
        return states[2]


_LIMITS = {"int64": 2**63 - 1, "int32": 2**31 - 1, "int8": 127, "uint8": 255}
_LARGEST = "tl.max({0}, axis=1, keep_dims=True)"
_SMALLEST = "tl.min({0}, axis=1, keep_dims=True)"
_NAN_STAYS = "propagate_nan=tl.PropagateNan.ALL"
FORMS: dict[str, Form] = {
    "sum": _Plain("0", "{0} + {1}", "tl.sum({0}, axis=1, keep_dims=True)"),
    "prod": _Plain("1", "{0} * {1}", "tl.reduce({0}, 1, times, keep_dims=True)"),
    "max": _Plain("-inf", f"tl.maximum({{0}}, {{1}}, {_NAN_STAYS})", "largest_of({0})"),
    "min": _Plain("inf", f"tl.minimum({{0}}, {{1}}, {_NAN_STAYS})", "smallest_of({0})"),
    "any": _Plain("0", "tl.maximum({0}, {1})", _LARGEST),
    "all": _Plain("1", "tl.minimum({0}, {1})", _SMALLEST),
    "logaddexp": _Plain(
        "-inf", "logaddexp({0}, {1})", "tl.reduce({0}, 1, logaddexp, keep_dims=True)"
    ),
    "argmax": _Places("first_of_largest", "-inf"),
    "argmin": _Places("first_of_smallest", "inf"),
    "spread": _Spread(),
}


def kept_as(op: str, dtype: str) -> str:
    """The type in which elements are folded."""
    return "int32" if op in ("any", "all") or dtype in ("bool", "int") else dtype


def element_of(scope: Scope, value: Reduce, index: Index, tile: Tile | None) -> Term:
    """What is folded, with nothing where the row has ended."""
    source = value.inputs[0]
    term = scope.write(scope.value(source, index))
    dtype = kept_as(value.op, source.dtype if term.dtype == "int" else term.dtype)
    if term.dtype != dtype:
        term = Term(f"tl.cast({term.code}, tl.{dtype})", dtype, names=term.names)
    if tile is not None:
        start = FORMS[value.op].states(dtype)[0].start
        chosen = f"tl.where({tile.mask}, {term.code}, {start})"
        term = Term(chosen, dtype, names=term.names | {tile.mask})
    name = scope.assign(term)
    return Term(name, dtype, names=frozenset({name}))


def fold_window(scope: Scope, value: Reduce, index: Index) -> Expression:
    """A small window, place by place."""
    source = value.inputs[0]
    extents = [source.shape[axis] for axis in value.axes]
    count = product(extents)
    if not count.fixed or count.value > _MOST_UNROLLED:
        return _loop_over_window(scope, value, index)
    total = ""
    names_before = len(scope.frame.types)
    for taps in combinations(*(range(extent.value) for extent in extents)):
        if len(scope.frame.types) - names_before > _MOST_NAMES:
            _demand_memory_beneath(source, scope)
        element = scope.write(_tap(scope, value, index, taps))
        names = element.names | ({total} if total else frozenset())
        code = FORMS[value.op].join([total], [element.code]) if total else element.code
        total = scope.assign(element._replace(code=code, names=names))
    if not total:
        raise Unfit(value)
    return Variable(total)


def _demand_memory_beneath(value: Value, scope: Scope) -> None:
    """What a window computes again at every place is computed before."""
    sources = value.inputs if isinstance(value, Map) else [value]
    for source in sources:
        source = scope.frame.standing_for(source)
        while isinstance(source, View | Guarded):
            source = scope.frame.standing_for(source.inputs[0])
        if isinstance(source, Map | Reduce):
            raise Unfit(source)


def _tap(scope: Scope, value: Reduce, index: Index, taps: Sequence[Plain]) -> Expression:
    """One element of a window; nothing where it lies beyond the input."""
    source = value.inputs[0]
    place = value.source_index(index, taps)
    tests = []
    for slide in value.slides:
        here = add(mul(index[slide.place], slide.stride), mul(taps[slide.tap], slide.dilation))
        here = sub(here, slide.pad)
        tests += [here >= 0, here < size(slide.size)]
    if not tests:
        return scope.value(source, place)
    with scope.guarded(both(*tests)) as inner:
        element = inner.value(source, place)
    return scope.define_guarded(source.dtype, inner, element, _neutral(value.op, source.dtype))


def _neutral(op: str, dtype: str) -> Expression:
    """What a fold of elements of this type begins with."""
    start = FORMS[op].states(dtype)[0].start
    number = float(start.replace('float("inf")', "inf"))
    return Constant(number, "float32") if "float" in dtype else Constant(int(start))


def _loop_over_window(scope: Scope, value: Reduce, index: Index) -> Expression:
    source = value.inputs[0]
    names = [scope.fresh("int", frozenset()) for _ in value.axes]
    body = scope.child(*names)
    scope.names -= set(names)
    element = _tap(body, value, index, names)
    term = body.write(element)
    dtype = kept_as(value.op, term.dtype)
    tiles = scope.frame.tiles_of(term.names | index.names)
    total = scope.fresh(dtype, tiles)
    start = FORMS[value.op].states(dtype)[0].start
    scope.lines.append(f"{total} = tl.full({scope.frame.shape(tiles)}, {start}, tl.{dtype})")
    body.lines.append(f"{total} = {FORMS[value.op].join([total], [term.code])}")
    lines = body.lines
    for name, axis in reversed(list(zip(names, value.axes, strict=True))):
        end = scope.size(source.shape[axis]).code
        lines = [f"for {name} in range(0, {end}):", *(f"    {line}" for line in lines)]
    scope.lines += lines
    return Variable(total)


class WindowFolding:
    """Windows only: what else is folded must be stored first."""

    def fold(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        if not value.window:
            raise Unfit(value)
        return fold_window(scope, value, index)
