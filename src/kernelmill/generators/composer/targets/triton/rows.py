"""Kernels of values with folds in them: softmax, norms, sums along axes.

A program takes a few rows. What its folds run over is a tile of its own: the whole row where it
fits into registers (then memory is read once), otherwise part of it in a loop for every round of
folds. Few long rows are shared: every program folds a part of one, and whoever needs the result
joins them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kernelmill.generators.composer.bufferize import reaches, reshapes
from kernelmill.generators.composer.host.language import Term
from kernelmill.generators.composer.ir.expressions import Constant, Expression, Variable
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import Index, divides, product, reshaped, unravel
from kernelmill.generators.composer.ir.values import Buffer, Reduce, Shape, Unfit, Value
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.folds import (
    FORMS,
    State,
    element_of,
    fold_window,
    kept_as,
)
from kernelmill.generators.composer.targets.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    padded,
    power_of_two,
    program_id,
)
from kernelmill.generators.composer.targets.triton.points import emit_points
from kernelmill.generators.composer.targets.triton.scope import Scope, Tile

_MOST_KEPT = 1 << 14
"""Elements that a program keeps in registers."""
_PROCESSORS = 132
_LONG = 4096
"""A row of this many elements is worth sharing where there are few."""
_ROWS = Tile("x", 0, "ROWS")
_WIDE_LOOP = 2048
_BESIDE, _DEEP_LOOP = 64, 32
"""Rows side by side, and elements of each, where memory does not run along the fold."""


class Long(Exception):
    """Folds of few long rows: several programs should share them."""

    def __init__(self, folds: Sequence[Reduce]) -> None:
        self.folds = tuple(folds)
        super().__init__(f"{len(folds)} folds")


class Parts(Reduce):
    """A fold of which several programs have made a part each: one buffer for every state."""

    def __init__(self, value: Reduce, buffers: Sequence[Buffer]) -> None:
        super().__init__(buffers[0], [0], value.op, value.dtype)
        self.inputs = tuple(buffers)


class Use(NamedTuple):
    """A fold, and where in the value it is needed."""

    value: Reduce
    at: Index

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

    def fold(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        if value.window:
            return fold_window(scope, value, index)
        use = Use(value, index)
        if not index.names.isdisjoint(self._inside):
            raise Unfit(value)  # it would be computed again for every element of another fold
        self.uses.append(use)
        names = [f"fold{len(self._inside)}_{axis}_" for axis in value.axes]
        self._inside += names
        scope.value(value.inputs[0], value.source_index(index, names))
        del self._inside[-len(names) :]
        return Constant(0)


def probe(value: Value, index: Index, stored: dict[int, Buffer]) -> list[Use]:
    scope = new_scope(1, stored)
    probing = _Probe()
    scope.frame.folding = probing
    scope.value(value, index)
    return probing.uses


def emit_nest(value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> Launch:
    """A kernel of a value, with or without folds.

    Raises Unfit for what must be stored before, and Long for folds that must be shared before.
    """
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
        if not any(divides(use.at) for use in uses):
            return shape
        first = first or shape
    return first


class _Domain(NamedTuple):
    """What some folds run over, as a tile."""

    tile: Tile
    length: Extent

    @property
    def single(self) -> bool:
        return self.length.code == "1"

    def places(self, extents: Sequence[Extent]) -> tuple[Expression, ...]:
        return unravel("0" if self.single else self.tile.name, extents)


class _Folding:
    """Writes the folds of a kernel whose programs take a few rows each."""

    def __init__(self, plan: Plan, stored: dict[int, Buffer]) -> None:
        self.plan = plan
        self.root = new_scope(2, stored)
        self.root.frame.folding = self
        self.domains: list[_Domain] = []
        self.uses: list[Use] = []
        self.kept = False
        """Whether a tile holds all of a row."""

    def domain(self, length: Extent) -> _Domain:
        for domain in self.domains:
            if domain.length.code == length.code:
                return domain
        number = len(self.domains)
        self.domains.append(_Domain(Tile(f"r{number}", 1, f"WIDTH{number}"), length))
        return self.domains[-1]

    def open(self, rows: Extent) -> None:
        """Begin the kernel."""
        self.root.lines.append(f"pid = {program_id()}")
        add_tile(self.root, _ROWS, "pid * ROWS", rows, self.plan)
        short = {use.length.code for use in self.uses if isinstance(use.value, Parts)}
        for domain in self.domains:
            if not domain.single and (self.kept or domain.length.code in short):
                add_tile(self.root, domain.tile, "", domain.length, self.plan)

    def fold(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        if value.window:
            return fold_window(scope, value, index)
        if scope is not self.root or not any(use.value is value for use in self.uses):
            raise Unfit(value)
        use = Use(value, index)
        if self.kept or isinstance(value, Parts) or self.domain(use.length).single:
            return self._fold_tile(value, index)
        together = self.round_of(use)
        domain = self.domain(together[0].length)
        body = self.loop_body(domain)
        totals = [self.accumulate(body, use, domain) for use in together]
        self.close(body, domain)
        for use, states in zip(together, totals, strict=True):
            states = self.whole(use.value, named(states), domain)
            result = Variable(FORMS[use.value.op].result(states))
            self.root.remember(use.value, use.at, result)
        return self.root.recall(value, index)

    def round_of(self, first: Use) -> list[Use]:
        """Folds that can go through the same loop as this one: none of them needs another."""
        chosen = [first]
        for use in self.uses:
            other = use.value
            if isinstance(other, Parts) or use.length.code != first.length.code:
                continue
            apart = all(not _linked(other, one.value) for one in chosen)
            if apart and not self.root.knows(other, use.at) and self._ready(other):
                chosen.append(use)
        return chosen

    def _ready(self, value: Reduce) -> bool:
        """Whether the folds that it needs are known already."""
        return all(
            self.root.knows(use.value, use.at)
            for use in self.uses
            if use.value is not value and reaches(value, use.value)
        )

    def _fold_tile(self, value: Reduce, index: Index) -> Expression:
        use = Use(value, index)
        domain = self.domain(use.length)
        if value.op == "spread" and not isinstance(value, Parts):
            return self._spread_of_tile(use, domain)
        lifted = self._lifted(self.root, use, domain)
        states = [state.code for state in lifted]
        if not domain.single:
            states = self.whole(value, lifted, domain)
        return Variable(FORMS[value.op].result(states))

    def _spread_of_tile(self, use: Use, domain: _Domain) -> Expression:
        """With the whole row at hand, two passes cost nothing."""
        element = self._element(self.root, use, domain).code
        count = self.root.size(domain.length).code
        total = f"tl.sum({element}, axis=1, keep_dims=True)"
        mean = f"{total} / tl.cast({count}, tl.float32)"
        apart = self.root.fresh("float32", self.root.frame.tiles_of((element, "x")))
        inside = "True" if domain.single else domain.tile.mask
        self.root.lines.append(f"{apart} = tl.where({inside}, {element} - {mean}, 0.0)")
        squares = f"tl.sum({apart} * {apart}, axis=1, keep_dims=True)"
        return Variable(self._named([squares], ["float32"], {element}, domain)[0])

    def _element(self, scope: Scope, use: Use, domain: _Domain) -> Term:
        index = use.value.source_index(use.at, domain.places(use.extents))
        tile = None if domain.single else domain.tile
        return element_of(scope, use.value, index, tile)

    def _lifted(self, scope: Scope, use: Use, domain: _Domain) -> list[Term]:
        """The states of a tile of elements, or those that other programs left."""
        if isinstance(use.value, Parts):
            return [self._part(scope, use, buffer, number, domain)
                    for number, buffer in enumerate(use.value.inputs)]  # fmt: skip
        element = self._element(scope, use, domain)
        form = FORMS[use.value.op]
        types = [state.dtype for state in form.states(element.dtype)]
        codes = form.lift(element.code, domain.tile)
        names = element.names | {domain.tile.name, domain.tile.mask}
        return [
            Term(code, dtype, names=frozenset(name for name in names if name in code))
            for code, dtype in zip(codes, types, strict=True)
        ]

    def _part(self, scope: Scope, use: Use, buffer: Value, number: int, domain: _Domain) -> Term:
        code = scope.value(buffer, Index([*domain.places(use.extents), *use.at]))
        start = FORMS[use.value.op].states(use.value.inputs[0].dtype)[number].start
        term = scope.write(code)
        mask = domain.tile.mask
        masked = f"tl.where({mask}, {term.code}, {start})"
        name = scope.assign(term._replace(code=masked, names=term.names | {mask}))
        return Term(name, buffer.dtype, names=frozenset({name}))

    def _named(
        self, codes: list[str], dtypes: list[str], made_of: Iterable[str], domain: _Domain
    ) -> list[str]:
        tiles = self.root.frame.tiles_of(made_of) - {domain.tile.name}
        names = [self.root.fresh(dtype, tiles) for dtype in dtypes]
        self.root.lines.append(f"{', '.join(names)} = {', '.join(codes)}")
        return names

    def loop_body(self, domain: _Domain, start: str = "") -> Scope:
        """Of a loop over a row; `start` is where a tile begins of a row that is shared."""
        name = f"{domain.tile.name}_start"
        body = self.root.child(name)
        if start:
            body.lines.append(f"{name} = {start}")
        among = "PARTS" if start else ""
        add_tile(body, domain.tile, name, domain.length, self.plan, among)
        return body

    def close(self, body: Scope, domain: _Domain) -> None:
        """Put a loop around what was written into its body."""
        tile = domain.tile
        size = body.size(domain.length).code
        self.root.lines.append(f"for {tile.name}_start in range(0, {size}, {tile.block}):")
        self.root.lines += [f"    {line}" for line in body.lines]

    def accumulate(self, body: Scope, use: Use, domain: _Domain) -> list[str]:
        """Write what grows in a loop; give the names of its states."""
        form = FORMS[use.value.op]
        lifted = self._lifted(body, use, domain)
        tiles = body.frame.tiles_of(lifted[0].names) | {domain.tile.name}
        if len(lifted) > 1:
            tiles |= body.frame.tiles_of(lifted[1].names)
        shape, totals = body.frame.shape(tiles), []
        for state, kind in zip(lifted, form.states(lifted[0].dtype), strict=True):
            totals.append(self.root.fresh(state.dtype, tiles))
            full = f"tl.full({shape}, {kind.start}, tl.{state.dtype})"
            self.root.lines.append(f"{totals[-1]} = {full}")
        joined = form.join(totals, [state.code for state in lifted])
        body.lines.append(f"{', '.join(totals)} = {joined}")
        return totals

    def whole(self, value: Reduce, given: Sequence[Term], domain: _Domain) -> list[str]:
        """One partial result for every row."""
        frame = self.root.frame
        states, names = [state.code for state in given], [state.names for state in given]
        if len(states) > 1:
            tiles = frame.tiles_of(frozenset().union(*names))
            states = [
                state
                if frame.tiles_of(own) == tiles
                else f"tl.broadcast_to({state}, {frame.shape(tiles)})"
                for state, own in zip(states, names, strict=True)
            ]
        source = value.inputs[0].dtype
        dtypes = [state.dtype for state in FORMS[value.op].states(kept_as(value.op, source))]
        made_of = frozenset().union(*names)
        return self._named([FORMS[value.op].whole(states)], dtypes, made_of, domain)


class _Rows:
    """The kernel of a value whose folds all belong to the same rows."""

    def __init__(
        self, value: Value, shape: Shape, target: Buffer, plan: Plan, stored: dict[int, Buffer]
    ) -> None:
        self._value, self._shape, self._target, self._plan = value, shape, target, plan
        self._outer = self._outer_axes(stored)
        self._along = [axis for axis in range(len(shape)) if axis not in self._outer]
        self._rows = product([shape[axis] for axis in self._outer])
        self._folding = _Folding(plan, stored)
        self._row = self._folding.domain(product([shape[axis] for axis in self._along]))
        self._folding.uses = probe(value, reshaped(self._index(), shape, value.shape), stored)
        for use in self._folding.uses:
            self._folding.domain(use.length)
        self._contiguous = self._runs_along_memory()
        self._demand_enough_rows()
        self._folding.kept = self._fits()

    def launch(self) -> Launch:
        folding, root = self._folding, self._folding.root
        folding.open(self._rows)
        looped = bool(self._along) and not folding.kept
        body = folding.loop_body(self._row) if looped else root
        index = self._index()
        result = body.value(self._value, reshaped(index, self._shape, self._value.shape))
        body.store(self._target.reshaped(self._shape), index, result)
        if looped:
            folding.close(body, self._row)
        constants = self._blocks()
        warps = str(self._plan.warps) if self._plan.warps != "auto" else self._warps()
        grid = (blocks(self._rows, constants["ROWS"]),)
        return Launch(root.lines, root.frame.memory, grid, constants, warps)

    def _demand_enough_rows(self) -> None:
        """Raise what must be done first where there are few rows, and long ones."""
        uses = self._folding.uses
        length = max(domain.length.value for domain in self._folding.domains)
        if not _few(self._rows, length, self._contiguous):
            return
        for use in uses:
            if not isinstance(use.value, Parts) and use.length.value >= _LONG:
                raise Long([one.value for one in self._folding.round_of(use)])
        if self._along:
            raise Unfit(uses[0].value)

    def _outer_axes(self, stored: dict[int, Buffer]) -> list[int]:
        """The axes that choose a row: those that all folds depend on."""
        names = [f"i{axis}_" for axis in range(len(self._shape))]
        index = reshaped(Index(names), self._shape, self._value.shape)
        uses = probe(self._value, index, stored)
        found = [use.at.names.intersection(names) for use in uses]
        widest = max(found, key=len)
        for use, variables in zip(uses, found, strict=True):
            if variables != widest:
                raise Unfit(use.value)
        single = [
            name for name, extent in zip(names, self._shape, strict=True) if extent.code == "1"
        ]
        return [axis for axis, name in enumerate(names) if name in widest.union(single)]

    def _index(self) -> Index:
        outer = unravel("x", [self._shape[axis] for axis in self._outer])
        along = self._row.places([self._shape[axis] for axis in self._along])
        parts: dict[int, Expression] = dict(zip(self._outer, outer, strict=True))
        parts.update(zip(self._along, along, strict=True))
        return Index([parts[axis] for axis in range(len(self._shape))])

    def _runs_along_memory(self) -> bool:
        if self._along:
            return len(self._shape) - 1 in self._along
        return all(use.value.contiguous for use in self._folding.uses)

    def _fits(self) -> bool:
        width = max(domain.length.value for domain in self._folding.domains)
        most = _MOST_KEPT if self._contiguous else _MOST_KEPT // _DEEP_LOOP
        return width <= self._plan.shrunk(most) and bool(self._plan.keep_rows)

    def _blocks(self) -> dict[str, str]:
        folding = self._folding
        widths = {d.tile.block: d.length for d in folding.domains if not d.single}
        short = {use.length.code for use in folding.uses if isinstance(use.value, Parts)}
        if not folding.kept:
            most = self._plan.shrunk(_WIDE_LOOP if self._contiguous else _DEEP_LOOP)
            sizes = {
                name: power_of_two(length)
                if length.code in short
                else str(min(most, padded(length)))
                for name, length in widths.items()
            }
            beside = 1 if self._contiguous else self._plan.shrunk(_BESIDE)
            return {"ROWS": str(self._plan.of_rows(beside)), **sizes}
        widest = max((padded(length) for length in widths.values()), default=1)
        count = max(1, min(self._plan.shrunk(2048) // widest, padded(self._rows), 64))
        if not self._contiguous:
            count = min(max(self._plan.shrunk(32), count), padded(self._rows))
        sizes = {name: power_of_two(length) for name, length in widths.items()}
        return {"ROWS": str(self._plan.of_rows(count)), **sizes}

    def _warps(self) -> str:
        if not self._folding.kept:
            return "8"
        width = max(padded(domain.length) for domain in self._folding.domains)
        return str(max(1, min(16, width // 512))) if self._contiguous else "8"


class Share:
    """The kernel in which several programs fold a part of every row each."""

    def __init__(self, folds: Sequence[Reduce], plan: Plan, stored: dict[int, Buffer]) -> None:
        self._plan, self._folds = plan, folds
        self._rows = product(folds[0].shape)
        self._contiguous = all(fold.contiguous for fold in folds)
        self._folding = _Folding(plan, stored)
        self._own = [Use(fold, Index(unravel("x", fold.shape))) for fold in folds]
        self._row = self._folding.domain(self._own[0].length)
        self._folding.uses = [use for one in self._own for use in self._inner(one, stored)]
        for use in self._folding.uses:
            if not isinstance(use.value, Parts):
                raise Unfit(use.value)
            self._folding.domain(use.length)

    @property
    def parts(self) -> int:
        """How many programs share a row."""
        side = 1 if self._contiguous else self._plan.shrunk(_BESIDE)
        programs = -(-self._rows.value // side)
        least = _WIDE_LOOP if self._contiguous else 4 * _DEEP_LOOP
        parts = 1
        while parts * programs < 4 * _PROCESSORS and parts * 2 * least <= self._row.length.value:
            parts *= 2
        return parts

    def states(self, fold: Reduce) -> list[State]:
        return FORMS[fold.op].states(kept_as(fold.op, fold.inputs[0].dtype))

    def launch(self, targets: Sequence[Sequence[Buffer]]) -> Launch:
        """Into one buffer [parts, rows...] for every state of every fold."""
        folding, root = self._folding, self._folding.root
        folding.open(self._rows)
        root.lines.append("part = tl.program_id(1)")
        tile, size = self._row.tile, root.size(self._row.length).code
        steps = f"tl.cdiv({size}, {tile.block} * PARTS)"
        body = folding.loop_body(self._row, start=f"(part * {steps} + step) * {tile.block}")
        totals = [folding.accumulate(body, use, self._row) for use in self._own]
        root.lines.append(f"for step in range(0, {steps}):")
        root.lines += [f"    {line}" for line in body.lines]
        for use, states, buffers in zip(self._own, totals, targets, strict=True):
            states = folding.whole(use.value, named(states), self._row)
            for state, buffer in zip(states, buffers, strict=True):
                root.store(buffer, Index(["part", *use.at]), state)
        width = self._plan.shrunk(_WIDE_LOOP if self._contiguous else _DEEP_LOOP)
        side = 1 if self._contiguous else self._plan.shrunk(_BESIDE)
        constants = {"ROWS": str(self._plan.of_rows(side)), "PARTS": str(self.parts)}
        for domain in folding.domains:
            if not domain.single:
                own = domain is self._row
                constants[domain.tile.block] = str(width) if own else power_of_two(domain.length)
        grid = (blocks(self._rows, constants["ROWS"]), str(self.parts))
        warps = str(self._plan.warps) if self._plan.warps != "auto" else "8"
        return Launch(root.lines, root.frame.memory, grid, constants, warps)

    def _inner(self, use: Use, stored: dict[int, Buffer]) -> list[Use]:
        """The folds that the elements of one need."""
        places = self._row.places(use.extents)
        return probe(use.value.inputs[0], use.value.source_index(use.at, places), stored)


def named(names: Iterable[str]) -> list[Term]:
    """Partial results that have names."""
    return [Term(name, "", names=frozenset({name})) for name in names]


def _few(rows: Extent, length: int, contiguous: bool) -> bool:
    programs = rows.value if contiguous else -(-rows.value // _BESIDE)
    return programs < _PROCESSORS and length >= _LONG


def _linked(one: Value, other: Value) -> bool:
    return reaches(one, other) or reaches(other, one)
