"""Scopes of a Triton kernel: its body, and the loops in it.

As in C++, every expression is written in the outermost scope where its index is known, and once. An
index is made of tiles: variables that stand for many places at once, each along an axis of its own.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple, Protocol

from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.emit.triton.code import KernelLanguage, Term
from kernelmill.generators.composer.index import Index
from kernelmill.generators.composer.values import (
    CTYPES,
    Buffer,
    Contract,
    Literal,
    Reduce,
    Scan,
    Value,
)

_NAME = re.compile(r"[A-Za-z_]\w*")
_DTYPES = {ctype: dtype for dtype, ctype in CTYPES.items()}


class Tile(NamedTuple):
    """A variable that stands for `block` neighbouring places of an index."""

    name: str
    axis: int
    block: str
    """How many, as a name of the kernel."""

    @property
    def mask(self) -> str:
        """Which of them exist."""
        return f"{self.name}_in"


class Folding(Protocol):
    """Who writes the folds of a kernel."""

    def fold(self, scope: "Scope", value: Reduce, index: Index) -> str: ...


class Scanning(Protocol):
    """Who writes the running fold of a kernel."""

    def running(self, scope: "Scope", value: Scan, index: Index) -> str: ...


class Frame:
    """What all scopes of one kernel share."""

    def __init__(self, rank: int, stored: dict[int, Any]) -> None:
        self.rank = rank
        self.stored = stored
        self.tiles: dict[str, Tile] = {}
        self.types: dict[str, str] = {}
        self.depends: dict[str, frozenset[str]] = {}
        """On which tiles a name depends."""
        self.memory: dict[str, Buffer] = {}
        """What is read or written."""
        self.kept: list[Value] = []
        self.numbers = count()
        self.folding: Folding | None = None
        self.scanning: Scanning | None = None
        self.contraction: Contract | None = None

    def standing_for(self, value: Value) -> Value:
        """What is read instead of a value."""
        while id(value) in self.stored:
            value = self.stored[id(value)]
        return value

    def add_tile(self, tile: Tile) -> None:
        self.tiles[tile.name] = tile
        for name in (tile.name, tile.mask):
            self.depends[name] = frozenset({tile.name})
        self.types[tile.name] = "int"
        self.types[tile.mask] = "bool"

    def tiles_in(self, code: str) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for name in _NAME.findall(code):
            found |= self.depends.get(name, frozenset())
        return found

    def shape(self, tiles: frozenset[str]) -> str:
        """The shape of what depends on these tiles."""
        sizes = ["1"] * self.rank
        for name in tiles:
            sizes[self.tiles[name].axis] = self.tiles[name].block
        return f"[{', '.join(sizes)}]"


class Scope:
    """The body of a kernel, or of a loop in it."""

    def __init__(
        self,
        frame: Frame,
        parent: "Scope | None" = None,
        variables: tuple[str, ...] = (),
        fence: bool = False,
    ) -> None:
        self.frame = frame
        self.parent = parent
        self.lines: list[str] = []
        self.names = set(variables)
        self._fence = fence
        """Nothing moves out of it."""
        self.condition = ""
        """What must hold where this scope's values are needed."""
        self._memo: dict[tuple[int, Index], str] = {}
        self._language = KernelLanguage(self._type_of, self._load)

    def child(self, *variables: str, fence: bool = False) -> "Scope":
        return Scope(self.frame, self, variables, fence)

    def value(self, value: Value, index: Index) -> str:
        """An element (a tile of them) as an expression, written where it belongs."""
        value = self.frame.standing_for(value)
        if isinstance(value, Literal):
            return value.code
        if isinstance(value, Buffer):
            self.frame.memory[value.name] = value
        home = self._home(index)
        key = (id(value), index)
        if key not in home._memo:
            self.frame.kept.append(value)  # ids are only unique while their owners live
            home._memo[key] = value.emit(home, index)  # type: ignore[arg-type]
        return home._memo[key]

    def part(self, _joined: Value, _place: str) -> int | None:
        """A tile may lie across parts: which one a place is in is never known beforehand."""
        return None

    def remember(self, value: Value, index: Index, code: str) -> None:
        self.frame.kept.append(value)
        self._memo[(id(value), index)] = code

    def knows(self, value: Value, index: Index) -> bool:
        return (id(value), index) in self._memo

    def recall(self, value: Value, index: Index) -> str:
        return self._memo[(id(value), index)]

    def _home(self, index: Index) -> "Scope":
        position = getattr(index, "position", None)
        texts = index.parts if position is None else (position,)
        wanted = {name for text in texts for name in _NAME.findall(text)}
        scope = self
        while scope.parent is not None and not scope._fence and not wanted & scope.names:
            scope = scope.parent
        return scope

    def fresh(self, dtype: str, tiles: frozenset[str]) -> str:
        name = f"t{next(self.frame.numbers)}"
        self.names.add(name)
        self.frame.types[name] = dtype
        self.frame.depends[name] = tiles
        return name

    def define(self, ctype: str, code: str) -> str:
        return self.assign(self._typed(self._language.write(code), _DTYPES[ctype]))

    declare = define

    def assign(self, term: Term) -> str:
        """Give a name to a term."""
        name = self.fresh(term.dtype, self.frame.tiles_in(term.code))
        self.lines.append(f"{name} = {term.code}")
        return name

    def write(self, code: str) -> Term:
        return self._language.write(code)

    def _typed(self, term: Term, dtype: str) -> Term:
        """Of the demanded type; an index may stay as narrow as it is."""
        if dtype == "int64" and term.dtype == "int":
            return term
        return self._language.cast(term, dtype)

    def store(self, target: Buffer, index: Index, code: str, how: str = "store") -> None:
        """Write a tile of elements where it belongs; `how` is Triton's word for it."""
        self.frame.memory[target.name] = target
        place = self._language.write(index.ravel(target.shape)).code
        value = self._language.write(code).code
        tiles = self.frame.tiles_in(place)
        if self.frame.tiles_in(value) - tiles:
            raise Unfit(target)
        if not tiles:  # a single element, of a value that has axes
            place = f"tl.full({self.frame.shape(tiles)}, {place}, INDEX)"
        masks = self._masks(tiles)
        self.lines.append(f"tl.{how}({target.name} + {place}, {value}{_with_mask(masks)})")

    @contextmanager
    def guarded(self, condition: str) -> Iterator["Scope"]:
        inner = self.child(fence=True)
        if condition:
            inner.condition = self.assign(self._language.write(condition))
        yield inner

    def define_guarded(self, ctype: str, inner: "Scope", result: str, otherwise: str) -> str:
        """A value where the condition of `inner` holds, something else elsewhere."""
        self.lines += inner.lines
        empty = _is_zero(otherwise) and any(
            line.startswith(f"{result} = tl.load(") and f"{inner.condition}" in line
            for line in inner.lines
        )
        if empty:  # a load gives zeros where it is masked
            self.names.add(result)
            return result
        value, rest = self._language.write(result), self._language.write(otherwise)
        chosen = self._language.choice(Term(inner.condition, "bool"), value, rest)
        return self.assign(self._typed(chosen, _DTYPES[ctype]))

    def assign_guarded(self, name: str, inner: "Scope", result: str) -> None:
        self.lines += inner.lines
        tiles = self.frame.tiles_in(f"{name} {inner.condition} {result}")
        self.frame.depends[name] = tiles
        value = self._language.write(result).code
        chosen = f"tl.where({inner.condition}, {value}, {name})" if inner.condition else value
        self.lines.append(f"{name} = {chosen}")

    def fold(self, value: Reduce, index: Index) -> str:
        if self.frame.folding is None:
            raise Unfit(value)
        return self.frame.folding.fold(self, value, index)

    def contracted(self, value: Contract) -> str:
        if value is not self.frame.contraction:
            raise Unfit(value)
        return "sum"

    def running(self, value: Scan, index: Index) -> str:
        if self.frame.scanning is None:
            raise Unfit(value)
        return self.frame.scanning.running(self, value, index)

    def unfit(self, value: Value) -> str:
        raise Unfit(value)

    apart = unfit

    def _type_of(self, name: str) -> str:
        return self.frame.types.get(name, "int")

    def _load(self, memory: str, place: Term) -> Term:
        buffer = self.frame.memory[memory]
        tiles = self.frame.tiles_in(place.code)
        masks = self._masks(tiles)
        code = place.code
        beyond = self.frame.tiles_in(" ".join(masks)) - tiles
        if beyond:
            code = f"tl.broadcast_to({code}, {self.frame.shape(tiles | beyond)})"
        other = ", other=0" if masks else ""
        return Term(f"tl.load({memory} + {code}{_with_mask(masks)}{other})", buffer.dtype)

    def _masks(self, tiles: frozenset[str]) -> list[str]:
        """Conditions on a place that depends on these tiles."""
        masks = [self.frame.tiles[name].mask for name in sorted(tiles)]
        scope: Scope | None = self
        while scope is not None:
            if scope.condition:
                masks.append(scope.condition)
            scope = scope.parent
        return masks


def _with_mask(masks: list[str]) -> str:
    return f", mask={' & '.join(masks)}" if masks else ""


def _is_zero(code: str) -> bool:
    return code in ("0", "0.0f", "0.0", "false")
