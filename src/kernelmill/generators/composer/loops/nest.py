"""Loop nests: one stored value, computed element by element."""

from typing import NamedTuple

from kernelmill.generators.composer.bufferize import reshapes
from kernelmill.generators.composer.ir.expressions import (
    Constant,
    Element,
    Expression,
    Variable,
    apply,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import (
    Flat,
    Index,
    add,
    divides,
    mul,
    product,
    reshaped,
    sub,
    unravel,
)
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Reduce,
    Scan,
    Shape,
    SlidingAxis,
    Unfit,
    Value,
)
from kernelmill.generators.composer.loops.cpp import cpp, ctype_of
from kernelmill.generators.composer.loops.decisions import SERIAL_BELOW
from kernelmill.generators.composer.loops.folds import FOLDS, Folding
from kernelmill.generators.composer.loops.scope import Scope
from kernelmill.generators.composer.loops.statements import (
    Assign,
    Block,
    Call,
    Statement,
    Threads,
    Vectors,
)
from kernelmill.generators.composer.plan import Plan

_LANE = "v"
_TILE = "width"
_MOST_TAPS = 64
_SMALL = 8
"""With fewer results than this, the threads share the folds instead of the results."""


class _Use(NamedTuple):
    """A fold, and the loops of the nest that it depends on."""

    value: Reduce | Scan
    variables: frozenset[str]
    places: tuple[Expression, ...]
    """Its index, in terms of the nest's own loops."""


class _Reach(NamedTuple):
    """A sliding axis, and how far its last tap lies from the first."""

    slide: SlidingAxis
    place: Expression
    """Where the window is along this axis, as an index of the nest."""
    length: int


class _Level(NamedTuple):
    """A loop of the nest."""

    variable: str
    end: str
    scope: Scope
    step: int = 1
    vectors: Vectors | None = None


def emit_nest(
    value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer], shared: set[int]
) -> list[Statement]:
    """The C++ of one nest. Raises Unfit for what must be stored before.

    `shared` are the ids of values with more than one user.
    """
    if isinstance(value, Scan) and value.axis == len(value.shape) - 1:
        return _emit_rows_scanned(value, target, plan, stored)
    shape, uses = _loop_shape(value, plan, stored)
    if not uses:
        lines = _emit_flat(value, target, plan, stored)
        if lines is not None:
            return lines
    return _Nest(value, shape, target, plan, stored, uses, shared).emit()


def _emit_rows_scanned(
    value: Scan, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement]:
    """A scan along memory: the row first, then the run time's vectorised scan in place."""
    rows, length = product(value.shape[:-1]), value.shape[-1]
    root = Scope(stored=stored)
    outer = root.child("row")
    body = outer.child("column")
    lead = unravel("row", value.shape[:-1])
    element = body.value(value.inputs[0], Index([*lead, "column"]))
    start = cpp(mul("row", size(length)))
    outer.lines.append(f"{ctype_of(value.dtype)}* line = {target.name} + {start};")
    body.lines.append(Assign(Element("line", Variable("column")), element))
    outer.loop("column", length.code, body, vectors=Vectors())
    outer.lines.append(
        Call(f"km::scan<km::{value.op}>(line, {length.code});", FOLDS[value.op].operator)
    )
    worth = product(value.shape).value > SERIAL_BELOW and plan.parallel == "outer"
    root.loop("row", rows.code, outer, threads=Threads() if worth else None)
    return root.lines


def _emit_flat(
    value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Statement] | None:
    """One loop over all elements, where no operand needs to know rows from columns."""
    total = product(value.shape)
    root = Scope(stored=stored)
    body = root.child("f")
    index = Flat("f", value.shape)
    result = body.value(value, index)
    if index.taken_apart:
        return None
    body.lines.append(Assign(Element(target.name, Variable("f")), result))
    worth = plan.parallel == "outer" and total.value > SERIAL_BELOW
    threads = Threads() if worth else None
    root.loop("f", total.code, body, vectors=Vectors(), threads=threads)
    return root.lines


class _Probing(Folding):
    """Writes nothing that stays; notes which folds are met and what they depend on."""

    def __init__(self, plan: Plan, variables: tuple[str, ...]) -> None:
        super().__init__(plan, "", "", parallel=False, shared=set())
        self._variables = variables
        self.uses: list[_Use] = []
        self.divides = False
        """Whether a fold needs an index that only a division gives."""

    def fold(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        self._note(value, index)
        return super().fold(scope, value, index)

    def running(self, scope: Scope, value: Scan, index: Index) -> Expression:
        place = index[value.axis].bare
        known = isinstance(place, Variable) and place.name in self._variables
        if not known or value.axis == len(value.shape) - 1:
            raise Unfit(value)
        self._note(value, index, without=place.names)
        return scope.value(value.inputs[0], index)

    def _note(
        self, value: Reduce | Scan, index: Index, without: frozenset[str] = frozenset()
    ) -> None:
        self.divides = self.divides or divides(index)
        found = index.names.intersection(self._variables)
        self.uses.append(_Use(value, found - without, index.parts))


def _loop_shape(value: Value, plan: Plan, stored: dict[int, Buffer]) -> tuple[Shape, list[_Use]]:
    """The shape to loop over: a reshape of the value's own where its folds ask for that."""
    first = _probe(value, value.shape, plan, stored)
    if not first.divides:
        return value.shape, first.uses
    for shape in reshapes(value, stored):
        other = _probe(value, shape, plan, stored)
        if not other.divides:
            return shape, other.uses
    return value.shape, first.uses


def _probe(value: Value, shape: Shape, plan: Plan, stored: dict[int, Buffer]) -> "_Probing":
    variables = tuple(f"i{axis}_" for axis in range(len(shape)))
    scope = Scope(variables=variables, stored=stored)
    probing = _Probing(plan, variables)
    scope.folding = probing
    scope.value(value, reshaped(Index(variables), shape, value.shape))
    return probing


class _Nest:
    def __init__(
        self,
        value: Value,
        shape: Shape,
        target: Buffer,
        plan: Plan,
        stored: dict[int, Buffer],
        uses: list[_Use],
        shared: set[int],
    ) -> None:
        self._value, self._target, self._plan = value, target, plan
        self._shape = shape
        self._stored = stored
        self._uses = uses
        self._shared = shared
        self._rank = len(shape)
        self._last = f"i{self._rank - 1}_"
        self._scans = [use for use in uses if isinstance(use.value, Scan)]
        self._order = self._loop_order()
        self._tiled = self._wants_tiles()

    def emit(self) -> list[Statement]:
        small = product(self._value.shape).value < _SMALL
        root = Scope(stored=self._stored)
        lane = _LANE if self._tiled else ""
        root.folding = Folding(self._plan, lane, _TILE if self._tiled else "", small, self._shared)
        levels = self._levels(root)
        if self._only_windows():
            self._emit_windows(levels)
            return self._assemble(root, levels, small)
        inner = levels[-1].scope if levels else root
        # Once for the folds to find their places; then again, with the rows they keep at hand.
        index = reshaped(self._index(), self._shape, self._value.shape)
        inner.value(self._value, index)
        if not self._scans:
            inner.clear()
        result = inner.value(self._value, index)
        inner.lines.append(self._stored_at(result))
        return self._assemble(root, levels, small)

    def _only_windows(self) -> bool:
        taps = [
            product([use.value.inputs[0].shape[axis] for axis in use.value.axes])
            for use in self._uses
            if isinstance(use.value, Reduce) and use.value.window
        ]
        few = all(count.fixed and count.value <= _MOST_TAPS for count in taps)
        if not self._tiled or len(taps) != len(self._uses) or not few:
            return False
        places = [reach.place for use in self._uses for reach in self._reaching(use)]
        return all(isinstance(place.bare, Variable | Constant) for place in places)

    def _stored_at(self, result: Expression) -> Assign:
        """The statement that stores an element."""
        return Assign(Element(self._target.name, self._index().ravel(self._shape)), result)

    def _emit_windows(self, levels: list[_Level]) -> None:
        """Tap by tap in registers where the window lies inside; the careful way at the edges."""
        levels.pop()
        tile = levels[-1].scope
        slides = [slide for use in self._uses for slide in self._reaching(use)]
        inside = Scope(tile, fence=True)
        inside.folding = Folding(self._plan, _LANE, _TILE, False, self._shared, unrolled=True)
        if not slides:
            self._emit_lane(inside, "0", _TILE)
            tile.lines += inside.lines
            return
        careful = Scope(tile, fence=True)
        careful.folding = Folding(self._plan, _LANE, "to", False, self._shared, first="from")
        self._emit_lane(careful, "from", "to")
        self._emit_lane(inside, "first", "end")
        head = "const auto careful = [&](long from, long to) {"
        tile.lines.append(Block(head, careful.lines, "};", short=True))
        tile.lines += self._inside_bounds(slides)
        before = "if (first > 0) careful(0, first);"
        behind = f"if (end < {_TILE}) careful(end, {_TILE});"
        tile.lines.append(Block("if (first < end) {", [before, *inside.lines, behind]))
        tile.lines.append(Block("else {", [f"careful(0, {_TILE});"]))

    def _emit_lane(self, scope: Scope, first: str, end: str) -> None:
        body = Scope(scope, (_LANE,), _LANE)
        result = body.value(self._value, reshaped(self._index(), self._shape, self._value.shape))
        body.lines.append(self._stored_at(result))
        scope.loop(_LANE, end, body, start=first, vectors=Vectors())

    def _reaching(self, use: _Use) -> list[_Reach]:
        value = use.value
        assert isinstance(value, Reduce)
        taps = [value.inputs[0].shape[value.axes[slide.tap]].value for slide in value.slides]
        return [
            _Reach(slide, use.places[slide.place], (count - 1) * slide.dilation)
            for slide, count in zip(value.slides, taps, strict=True)
        ]

    def _inside_bounds(self, slides: list[_Reach]) -> list[str]:
        """The lanes of a tile whose whole window lies inside the input."""
        lines = [f"long first = 0, end = {_TILE};"]
        for slide, place, reach in dict.fromkeys(slides):
            step, along = slide.stride, size(slide.size)
            origin = sub(mul(place, step), slide.pad)
            if place == Variable(self._last):
                before = cpp(-origin)
                lines.append(f"first = std::max<long>(first, km::ceildiv({before}, {step}));")
                room = cpp(sub(sub(along, reach), origin))
                lines.append(f"end = std::min<long>(end, km::ceildiv({room}, {step}));")
            else:
                beyond = apply(Operator.OR, origin < 0, add(origin, reach) >= along)
                lines.append(f"if ({cpp(beyond)}) end = 0;")
        return lines

    def _loop_order(self) -> list[int]:
        """Axes on which more folds depend come first, so that each fold is computed once."""

        def misses(axis: int) -> int:
            return sum(f"i{axis}_" not in use.variables for use in self._uses)

        order = sorted(range(self._rank), key=misses)
        for use in self._uses:
            first = {f"i{axis}_" for axis in order[: len(use.variables)]}
            if (
                first != use.variables
                and isinstance(use.value, Reduce)
                and use.value is not self._value
            ):
                raise Unfit(use.value)
        return order

    def _wants_tiles(self) -> bool:
        if not self._rank:
            return False
        beside = [
            use
            for use in self._uses
            if self._last in use.variables
            and (isinstance(use.value, Scan) or not use.value.contiguous)
        ]
        for use in self._uses:
            if beside and self._last in use.variables and use not in beside:
                raise Unfit(use.value if use.value is not self._value else beside[0].value)
        return bool(beside)

    def _index(self) -> Index:
        parts = [Variable(f"i{axis}_") for axis in range(self._rank)]
        if self._tiled:
            return Index([*parts[:-1], add(self._last, _LANE)])
        return Index(parts)

    def _levels(self, root: Scope) -> list[_Level]:
        levels: list[_Level] = []
        scope = root
        for axis in self._order:
            name, extent = f"i{axis}_", self._shape[axis]
            scope = scope.child(name)
            step = 1
            if self._tiled and axis == self._rank - 1:
                step = self._plan.lanes
                scope.names.add(_TILE)
            levels.append(_Level(name, extent.code, scope, step))
        if self._tiled:
            scope = Scope(scope, (_LANE,), _LANE)
            levels.append(_Level(_LANE, _TILE, scope, vectors=Vectors()))
        elif levels and self._order[-1] == self._rank - 1 and self._simd_last():
            levels[-1] = levels[-1]._replace(vectors=Vectors())
        return levels

    def _simd_last(self) -> bool:
        """The innermost loop carries neither a scan nor a fold of its own."""
        scanned = any(
            use.value.axis == self._rank - 1 for use in self._scans if isinstance(use.value, Scan)
        )
        folded = any(self._last in use.variables for use in self._uses)
        return not scanned and not folded

    def _assemble(self, root: Scope, levels: list[_Level], small: bool) -> list[Statement]:
        own = [bool(level.scope.lines) for level in levels]
        shared = next((depth for depth, busy in enumerate(own) if busy), len(levels) - 1) + 1
        shared = min(
            shared, len(levels) - (1 if levels and levels[-1].vectors and len(levels) > 1 else 0)
        )
        scan_axes = {use.value.axis for use in self._scans if isinstance(use.value, Scan)}
        for depth, axis in enumerate(self._order):
            if axis in scan_axes:
                shared = min(shared, depth)
            if self._tiled and axis == self._rank - 1:
                shared = min(shared, depth + 1)  # the width of the tile stands between the loops
        for depth in range(len(levels) - 1, -1, -1):
            level = levels[depth]
            if self._tiled and level.variable == self._last:
                room = f"{self._shape[-1].code} - {self._last}"
                width = f"const long {_TILE} = std::min<long>({self._plan.lanes}, {room});"
                level.scope.lines.insert(0, width)
            outer = levels[depth - 1].scope if depth else root
            threads = None if depth or not shared or small else self._threads(shared)
            vectors = level.vectors if threads is None or shared == 1 else None
            outer.loop(
                level.variable, level.end, level.scope,
                step=level.step, vectors=vectors, threads=threads,
            )  # fmt: skip
        return root.lines

    def _threads(self, shared: int) -> Threads | None:
        """Who shares the outermost loops, as many as are `shared`."""
        worth = self._plan.parallel != "none" and self._worth_sharing()
        return Threads(shared) if worth else None

    def _worth_sharing(self) -> bool:
        work = product(self._value.shape).value
        for use in self._uses:
            if isinstance(use.value, Reduce):
                source: tuple[Extent, ...] = use.value.inputs[0].shape
                work = max(work, product(source).value)
        return work > SERIAL_BELOW
