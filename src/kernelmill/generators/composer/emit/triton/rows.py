"""Kernels of values with folds in them: softmax, norms, sums along axes.

A program takes a few rows. What its folds run over is a tile of its own: the whole row where it fits
into registers (then memory is read once), otherwise part of it in a loop for every round of folds.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.nest import reshapes
from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.emit.triton.folds import (
    FOLDS,
    fold_window,
    kept_as,
    start_of,
)
from kernelmill.generators.composer.emit.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    power_of_two,
    program_id,
)
from kernelmill.generators.composer.emit.triton.points import emit_points
from kernelmill.generators.composer.emit.triton.scope import Scope, Tile
from kernelmill.generators.composer.graph import Extent
from kernelmill.generators.composer.index import Index, product, reshaped, unravel
from kernelmill.generators.composer.storing import reaches
from kernelmill.generators.composer.values import Buffer, Reduce, Shape, Value

_MOST_KEPT = 1 << 14
"""Elements that a program keeps in registers."""
_ROWS = Tile("x", 0, "ROWS")


class Use(NamedTuple):
    """A fold, and where in the value it is needed."""

    value: Reduce
    index: Index

    @property
    def text(self) -> str:
        return " ".join(self.index.parts)

    @property
    def extents(self) -> list[Extent]:
        source = self.value.inputs[0]
        return [source.shape[axis] for axis in self.value.axes]

    @property
    def length(self) -> Extent:
        return product(self.extents)


class _Probe:
    """Writes nothing that stays; notes which folds are met."""

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self._inside: list[str] = []

    def fold(self, scope: Scope, value: Reduce, index: Index) -> str:
        if value.window:
            return fold_window(scope, value, index)
        use = Use(value, index)
        if any(name in use.text for name in self._inside):
            raise Unfit(value)  # it would be computed again for every element of another fold
        self.uses.append(use)
        names = [f"fold{len(self._inside)}_{axis}_" for axis in value.axes]
        self._inside += names
        scope.value(value.inputs[0], value.source_index(index, names))
        del self._inside[-len(names) :]
        return "0"


def probe(value: Value, index: Index, stored: dict[int, Buffer]) -> list[Use]:
    scope = new_scope(1, stored)
    probing = _Probe()
    scope.frame.folding = probing
    scope.value(value, index)
    return probing.uses


def emit_nest(value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> Launch:
    """A kernel of a value, with or without folds. Raises Unfit for what must be stored before."""
    shape = _loop_shape(value, stored)
    if shape is None:
        return emit_points(value, target, plan, stored)
    return _Rows(value, shape, target, plan, stored).launch()


def _loop_shape(value: Value, stored: dict[int, Buffer]) -> Shape | None:
    """The shape to loop over: one in which no fold needs a division; None without any folds."""
    first: Shape | None = None
    for shape in (value.shape, *reshapes(value, stored)):
        names = Index([f"i{axis}_" for axis in range(len(shape))])
        uses = probe(value, reshaped(names, shape, value.shape), stored)
        if not uses:
            return None
        if not any("/" in use.text or "%" in use.text for use in uses):
            return shape
        first = first or shape
    return first


class _Domain(NamedTuple):
    """What some folds run over, as a tile."""

    tile: Tile
    length: Extent


class _Rows:
    def __init__(
        self, value: Value, shape: Shape, target: Buffer, plan: Plan, stored: dict[int, Buffer]
    ) -> None:
        self._value, self._shape, self._target = value, shape, target
        self._plan, self._stored = plan, stored
        self._outer = self._outer_axes()
        self._along = [axis for axis in range(len(shape)) if axis not in self._outer]
        self._domains: list[_Domain] = []
        self._root = new_scope(2, stored)
        self._root.frame.folding = self
        self._row = self._domain(product([shape[axis] for axis in self._along]))
        self._uses = probe(value, reshaped(self._index(), shape, value.shape), stored)
        for use in self._uses:
            self._domain(use.length)
        self._contiguous = self._runs_along_memory()
        self._kept = self._fits()

    def launch(self) -> Launch:
        root = self._root
        rows = product([self._shape[axis] for axis in self._outer])
        root.lines.append(f"pid = {program_id()}")
        add_tile(root, _ROWS, "pid * ROWS", rows, self._plan)
        if self._kept:
            for domain in self._domains:
                if domain.length.code != "1":
                    add_tile(root, domain.tile, "", domain.length, self._plan)
        body = root if self._kept or not self._along else self._loop_body(self._row)
        index = self._index()
        result = body.value(self._value, reshaped(index, self._shape, self._value.shape))
        body.store(Buffer(self._target.name, self._shape, self._target.dtype), index, result)
        if body is not root:
            self._close(body, self._row)
        constants = self._blocks(rows)
        warps = str(self._plan.warps) if self._plan.warps != "auto" else self._warps()
        return Launch(
            root.lines, root.frame.memory, (blocks(rows, constants["ROWS"]),), constants, warps
        )

    def fold(self, scope: Scope, value: Reduce, index: Index) -> str:
        if value.window:
            return fold_window(scope, value, index)
        if scope is not self._root or not any(use.value is value for use in self._uses):
            raise Unfit(value)
        if self._kept:
            return self._fold_tile(value, index)
        together = self._round_of(value)
        domain = self._domain(Use(value, index).length)
        body = self._loop_body(domain)
        totals = [self._accumulate(body, use, domain) for use in together]
        self._close(body, domain)
        for use, total in zip(together, totals, strict=True):
            self._root.remember(use.value, use.index, self._finish(use, total, domain))
        return self._root._memo[(id(value), index)]

    def _round_of(self, value: Reduce) -> list[Use]:
        """Folds that can go through the same loop: none of them needs another."""
        length = next(use.length for use in self._uses if use.value is value)
        chosen = [next(use for use in self._uses if use.value is value)]
        for use in self._uses:
            other = use.value
            known = (id(other), use.index) in self._root._memo
            apart = all(not _linked(other, one.value) for one in chosen)
            if not known and apart and use.length.code == length.code and self._ready(other):
                chosen.append(use)
        return chosen

    def _ready(self, value: Reduce) -> bool:
        """Whether the folds that it needs are known already."""
        return all(
            (id(use.value), use.index) in self._root._memo
            for use in self._uses
            if use.value is not value and reaches(value, use.value)
        )

    def _outer_axes(self) -> list[int]:
        """The axes that choose a row: those that all folds depend on."""
        names = [f"i{axis}_" for axis in range(len(self._shape))]
        index = reshaped(Index(names), self._shape, self._value.shape)
        uses = probe(self._value, index, self._stored)
        found = [frozenset(name for name in names if name in use.text) for use in uses]
        widest = max(found, key=len)
        for use, variables in zip(uses, found, strict=True):
            if variables != widest:
                raise Unfit(use.value)
        return [axis for axis, name in enumerate(names) if name in widest]

    def _domain(self, length: Extent) -> _Domain:
        for domain in self._domains:
            if domain.length.code == length.code:
                return domain
        number = len(self._domains)
        self._domains.append(_Domain(Tile(f"r{number}", 1, f"WIDTH{number}"), length))
        return self._domains[-1]

    def _index(self) -> Index:
        outer = unravel("x", [self._shape[axis] for axis in self._outer])
        along = self._places(self._row, [self._shape[axis] for axis in self._along])
        parts: dict[int, str] = dict(zip(self._outer, outer, strict=True))
        parts.update(zip(self._along, along, strict=True))
        return Index([parts[axis] for axis in range(len(self._shape))])

    def _places(self, domain: _Domain, extents: Sequence[Extent]) -> tuple[str, ...]:
        return unravel(domain.tile.name if domain.length.code != "1" else "0", extents)

    def _source_index(self, value: Reduce, index: Index, domain: _Domain) -> Index:
        return value.source_index(index, self._places(domain, Use(value, index).extents))

    def _element(self, scope: Scope, value: Reduce, index: Index, domain: _Domain) -> tuple[str, str]:
        """What is folded, with nothing where the row has ended; and its type."""
        code = scope.value(value.inputs[0], self._source_index(value, index, domain))
        term = scope.write(code)
        dtype = kept_as(value.op, term.dtype if term.dtype != "int" else value.inputs[0].dtype)
        start = start_of(value.op, dtype)
        if term.dtype != dtype:
            term = term._replace(code=f"tl.cast({term.code}, tl.{dtype})", dtype=dtype)
        if domain.length.code == "1":
            return term.code, dtype
        masked = f"tl.where({domain.tile.mask}, {term.code}, {start})"
        return scope.assign(term._replace(code=masked)), dtype

    def _fold_tile(self, value: Reduce, index: Index) -> str:
        root, domain = self._root, self._domain(Use(value, index).length)
        if value.op in ("argmax", "argmin"):
            raise Unfit(value)
        element, dtype = self._element(root, value, index, domain)
        if domain.length.code == "1":
            return element
        whole = FOLDS[value.op].whole.format(element, 1)
        return self._named(whole, dtype, element, domain)

    def _named(self, code: str, dtype: str, element: str, domain: _Domain) -> str:
        tiles = self._root.frame.tiles_in(element) - {domain.tile.name}
        name = self._root.fresh(dtype, tiles)
        self._root.lines.append(f"{name} = {code}")
        return name

    def _loop_body(self, domain: _Domain) -> Scope:
        start = f"{domain.tile.name}_start"
        body = self._root.child(start)
        add_tile(body, domain.tile, start, domain.length, self._plan)
        return body

    def _close(self, body: Scope, domain: _Domain) -> None:
        """Put a loop around what was written into its body."""
        tile = domain.tile
        size = body.write(domain.length.code).code
        self._root.lines.append(f"for {tile.name}_start in range(0, {size}, {tile.block}):")
        self._root.lines += [f"    {line}" for line in body.lines]

    def _accumulate(self, body: Scope, use: Use, domain: _Domain) -> str:
        value = use.value
        if value.op in ("argmax", "argmin"):
            raise Unfit(value)
        element, dtype = self._element(body, value, use.index, domain)
        tiles = body.frame.tiles_in(element) | {domain.tile.name}
        total = self._root.fresh(dtype, tiles)
        shape, start = body.frame.shape(tiles), start_of(value.op, dtype)
        self._root.lines.append(f"{total} = tl.full({shape}, {start}, tl.{dtype})")
        body.lines.append(f"{total} = {FOLDS[value.op].join.format(total, element)}")
        return total

    def _finish(self, use: Use, total: str, domain: _Domain) -> str:
        dtype = self._root.frame.types[total]
        return self._named(FOLDS[use.value.op].whole.format(total, 1), dtype, total, domain)

    def _runs_along_memory(self) -> bool:
        if self._along:
            return len(self._shape) - 1 in self._along
        return all(use.value.contiguous for use in self._uses)

    def _fits(self) -> bool:
        width = max(domain.length.value for domain in self._domains)
        most = _MOST_KEPT if self._contiguous else _MOST_KEPT // 32
        return width <= most and bool(self._plan.keep_rows)

    def _blocks(self, rows: Extent) -> dict[str, str]:
        widths = {d.tile.block: d.length for d in self._domains if d.length.code != "1"}
        if not self._kept:
            width = 2048 if self._contiguous else 32
            sizes = {name: str(min(width, _padded(length))) for name, length in widths.items()}
            return {"ROWS": "1" if self._contiguous else "64", **sizes}
        widest = max((_padded(length) for length in widths.values()), default=1)
        count = max(1, min(2048 // widest, _padded(rows), 64))
        if not self._contiguous:
            count = min(max(32, count), _padded(rows))
        sizes = {name: power_of_two(length) for name, length in widths.items()}
        return {"ROWS": str(count), **sizes}

    def _warps(self) -> str:
        if not self._kept:
            return "8"
        width = max(_padded(domain.length) for domain in self._domains)
        return str(max(1, min(16, width // 512))) if self._contiguous else "8"


def _padded(extent: Extent) -> int:
    return 1 << max(0, extent.value - 1).bit_length()


def _linked(one: Value, other: Value) -> bool:
    return reaches(one, other) or reaches(other, one)
