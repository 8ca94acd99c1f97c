"""Scopes of a Triton kernel: its body, and the loops in it.

As in C++, every expression is written in the outermost scope where its index is known, and once. An
index is made of tiles: variables that stand for many places at once, each along an axis of its own.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple, Protocol

from kernelmill.generators.composer.host.language import Term
from kernelmill.generators.composer.ir.expressions import (
    Constant,
    Element,
    Expression,
    Plain,
    Variable,
    expression,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import Index
from kernelmill.generators.composer.ir.sizes import size
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
from kernelmill.generators.composer.targets.triton.joins import has_many_parts
from kernelmill.generators.composer.targets.triton.language import KernelLanguage


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

    def fold(self, scope: "Scope", value: Reduce, index: Index) -> Expression: ...


class Scanning(Protocol):
    """Who writes the running fold of a kernel."""

    def running(self, scope: "Scope", value: Scan, index: Index) -> Expression: ...


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

    def tiles_of(self, names: Iterable[str]) -> frozenset[str]:
        """The tiles on which any of these names depends."""
        return frozenset().union(*(self.depends.get(name, frozenset()) for name in names))

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
        self._memo: dict[tuple[int, Index], Expression] = {}
        self._loaded: set[str] = set()
        """Names of what was read from memory under this scope's condition."""
        self._language = KernelLanguage(self._type_of, self._load)

    def child(self, *variables: str, fence: bool = False) -> "Scope":
        return Scope(self.frame, self, variables, fence)

    def value(self, value: Value, index: Index) -> Expression:
        """An element (a tile of them) as an expression, written where it belongs."""
        value = self.frame.standing_for(value)
        if isinstance(value, Literal):
            return value.number
        if isinstance(value, Buffer):
            self.frame.memory[value.name] = value.memory
        home = self._home(index)
        key = (id(value), index)
        if key not in home._memo:
            self.frame.kept.append(value)  # ids are only unique while their owners live
            home._memo[key] = value.emit(home, index)
        return home._memo[key]

    def part(self, joined: Joined, _place: Expression) -> int | None:
        """A tile may lie across parts: which one a place is in is never known beforehand."""
        if has_many_parts(joined):
            raise Unfit(joined)
        return None

    def remember(self, value: Value, index: Index, known: Expression) -> None:
        self.frame.kept.append(value)
        self._memo[(id(value), index)] = known

    def knows(self, value: Value, index: Index) -> bool:
        return (id(value), index) in self._memo

    def recall(self, value: Value, index: Index) -> Expression:
        return self._memo[(id(value), index)]

    def _home(self, index: Index) -> "Scope":
        wanted = index.names
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

    def define(self, dtype: str, value: Expression) -> Variable:
        name = self.assign(self._typed(self.write(value), dtype))
        if isinstance(value, Element):
            self._loaded.add(name)
        return Variable(name)

    declare = define

    def assign(self, term: Term) -> str:
        """Give a name to a term."""
        name = self.fresh(term.dtype, self.frame.tiles_of(term.names))
        self.lines.append(f"{name} = {term.code}")
        return name

    def write(self, plain: Plain) -> Term:
        return self._language.write(expression(plain))

    def size(self, extent: Extent) -> Term:
        """A size in the kernel."""
        return self._language.write(size(extent))

    def _typed(self, term: Term, dtype: str) -> Term:
        """Of the demanded type; an index may stay as narrow as it is."""
        if dtype == "int64" and term.dtype == "int":
            return term
        return self._language.cast(term, dtype)._replace(names=term.names)

    def store(self, target: Buffer, index: Index, value: Plain, how: str = "store") -> None:
        """Write a tile of elements where it belongs; `how` is Triton's word for it."""
        self.frame.memory[target.name] = target.memory
        where, what = self.write(target.place(index)), self.write(value)
        place, tiles = where.code, self.frame.tiles_of(where.names)
        if self.frame.tiles_of(what.names) - tiles:
            raise Unfit(target)
        if not tiles:  # a single element, of a value that has axes
            place = f"tl.full({self.frame.shape(tiles)}, {place}, INDEX)"
        masks = self._masks(tiles)
        self.lines.append(f"tl.{how}({target.name} + {place}, {what.code}{_with_mask(masks)})")

    @contextmanager
    def guarded(self, condition: Expression | None) -> Iterator["Scope"]:
        inner = self.child(fence=True)
        if condition is not None:
            inner.condition = self.assign(self.write(condition))
        yield inner

    def define_guarded(
        self, dtype: str, inner: "Scope", result: Expression, otherwise: Expression
    ) -> Variable:
        """A value where the condition of `inner` holds, something else elsewhere."""
        self.lines += inner.lines
        if isinstance(result, Variable) and result.name in inner._loaded and _is_zero(otherwise):
            self.names.add(result.name)  # a load gives zeros where it is masked
            self._loaded.add(result.name)
            return result
        value, rest = self.write(result), self.write(otherwise)
        names = value.names | rest.names | {inner.condition}
        chosen = self._language.choice(Term(inner.condition, "bool"), value, rest)
        return Variable(self.assign(self._typed(chosen, dtype)._replace(names=names)))

    def assign_guarded(self, name: Variable, inner: "Scope", result: Expression) -> None:
        self.lines += inner.lines
        value = self.write(result)
        tiles = self.frame.tiles_of({name.name, inner.condition} | value.names)
        self.frame.depends[name.name] = tiles
        chosen = value.code
        if inner.condition:
            chosen = f"tl.where({inner.condition}, {value.code}, {name.name})"
        self.lines.append(f"{name.name} = {chosen}")

    def fold(self, value: Reduce, index: Index) -> Expression:
        if self.frame.folding is None:
            raise Unfit(value)
        return self.frame.folding.fold(self, value, index)

    def contracted(self, value: Contract) -> Expression:
        if value is not self.frame.contraction:
            raise Unfit(value)
        return Variable("sum")

    def running(self, value: Scan, index: Index) -> Expression:
        if self.frame.scanning is None:
            raise Unfit(value)
        return self.frame.scanning.running(self, value, index)

    def unfit(self, value: Value) -> Expression:
        raise Unfit(value)

    apart = unfit

    def _type_of(self, name: str) -> str:
        return self.frame.types.get(name, "int")

    def _load(self, memory: str, place: Term) -> Term:
        buffer = self.frame.memory[memory]
        tiles = self.frame.tiles_of(place.names)
        masks = self._masks(tiles)
        code = place.code
        beyond = self.frame.tiles_of(masks) - tiles
        if beyond:
            shape = self.frame.shape(tiles | beyond)
            code = (
                f"tl.broadcast_to({code}, {shape})" if tiles else f"tl.full({shape}, {code}, INDEX)"
            )
        other = ", other=0" if masks else ""
        load = f"tl.load({memory} + {code}{_with_mask(masks)}{other})"
        return Term(load, buffer.dtype, names=place.names.union(masks))

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


def _is_zero(number: Expression) -> bool:
    return isinstance(number, Constant) and str(number) in ("0", "0.0", "False")
