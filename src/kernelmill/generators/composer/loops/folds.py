"""Folds inside a loop nest: reductions and running folds, plain or a vector of them at a time."""

from dataclasses import replace
from itertools import product as cartesian
from typing import NamedTuple

from kernelmill.generators.composer.ir.expressions import (
    INDEX,
    Apply,
    Argument,
    Cast,
    Element,
    Expression,
    Variable,
    apply,
    expression,
    filled,
    select,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import ZERO, Index, add, mul, product, sub
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import Map, Reduce, Scan, Unfit
from kernelmill.generators.composer.loops.cpp import cpp, ctype_of
from kernelmill.generators.composer.loops.decisions import SERIAL_BELOW
from kernelmill.generators.composer.loops.scope import Part, Scope
from kernelmill.generators.composer.loops.statements import (
    Assign,
    Block,
    If,
    Loop,
    Reduction,
    Statement,
    Statements,
    Threads,
    Vectors,
    has_loop,
)
from kernelmill.generators.composer.plan import Plan

_MOST_NESTED = 2
"""Folds inside of each other: more are stored first, or each would be computed again and again."""
_FEW = 8
"""Elements that are folded one by one, without a loop."""
_LANE_BLOCK = 128
"""Elements that a lane sums in single precision before they join a sum in double."""
_MOST_UNROLLED = 16
"""Taps of a window that are folded without a loop."""
_BLOCK = 2048
"""Elements summed in single precision before they join a sum in double."""


class Fold(NamedTuple):
    """How two partial results become one."""

    start: str
    combine: Expression
    """Of what was folded so far, and what comes."""
    simd: str
    """What OpenMP calls it; empty where it knows no such reduction."""
    without_nan: Expression | None = None
    """The combination in a reduction of OpenMP, which loses NaN; None where it is the same."""

    @property
    def operator(self) -> Operator:
        assert isinstance(self.combine, Apply)
        return self.combine.operator

    def combined(self, so_far: Expression, element: Expression) -> Expression:
        return filled(self.combine, [so_far, element])


_SO_FAR, _NEXT = Argument(0), Argument(1)
_WHOLE = Cast("int", _NEXT)


def _extreme(start: str, operator: Operator, simd: str) -> Fold:
    further, invalid = apply(operator, _NEXT, _SO_FAR), apply(Operator.NE, _NEXT, _NEXT)
    taken = apply(Operator.BIT_OR, further, invalid)
    without_nan = select(further, _NEXT, _SO_FAR)
    return Fold(start, select(taken, _NEXT, _SO_FAR), simd, without_nan)


FOLDS = {
    "sum": Fold("0", _SO_FAR + _NEXT, "+"),
    "prod": Fold("1", _SO_FAR * _NEXT, "*"),
    "max": _extreme("-km::infinity", Operator.GT, "max"),
    "min": _extreme("km::infinity", Operator.LT, "min"),
    "any": Fold("0", apply(Operator.BIT_OR, _SO_FAR, _WHOLE), "|"),
    "all": Fold("1", apply(Operator.BIT_AND, _SO_FAR, _WHOLE), "&"),
    "logaddexp": Fold("-km::infinity", apply(Operator.LOGADDEXP, _SO_FAR, _NEXT), ""),
}
_FLOATS = ("float32", "float64")
_INTEGER_START = {"max": "lowest", "min": "max"}


def _start_of(value: Reduce | Scan) -> str:
    op, dtype = value.op, value.dtype
    if op in _INTEGER_START and dtype not in _FLOATS:
        return f"std::numeric_limits<{ctype_of(dtype)}>::{_INTEGER_START[op]}()"
    return FOLDS[op].start


class _Total(NamedTuple):
    """The variables that a reduction adds up to."""

    name: str
    found_nan: str
    """Whether any element was NaN; empty where that does not matter."""

    def reductions(self, op: str) -> tuple[Reduction, ...]:
        nan = (Reduction("|", self.found_nan),) if self.found_nan else ()
        return (Reduction(op, self.name), *nan)


class _Run(NamedTuple):
    """A stretch of the innermost loop of a fold, its body, and the element that it folds."""

    start: Expression
    extent: Extent
    body: Scope
    element: Expression

    @property
    def end(self) -> Expression:
        return add(self.start, size(self.extent))


class Folding:
    """Writes the folds of one nest."""

    def __init__(
        self,
        plan: Plan,
        lane: str,
        tile: str,
        parallel: bool,
        shared: set[int],
        unrolled: bool = False,
        first: str = "0",
    ) -> None:
        self._plan = plan
        self._lane = lane
        self._first, self._tile = first, tile
        """First lane, and the end of the lanes (empty: no tiles in this nest)."""
        self._parallel = parallel
        """The nest itself is too small to share among threads: its folds are not."""
        self._shared = shared
        self.unrolled = unrolled
        """Windows are folded inside the vectorised loop, tap by tap: nothing of them is outside."""
        self._work = 0
        """Elements of the largest fold inside the one being written."""

    def fold(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        in_lane = bool(self._lane) and self._lane in index.names
        if in_lane and not self._tile:
            raise Unfit(value)
        if scope.folds and not value.window and _repeated(scope, index):
            raise Unfit(value)
        if value.op in ("argmax", "argmin"):
            if in_lane:
                raise Unfit(value)
            return self._find(scope, value, index)
        if self.unrolled and value.window:
            return self._fold_taps(scope, value, index)
        if in_lane:
            return self._fold_lanes(scope, value, index)
        if _is_short(value):
            return self._fold_few(scope, value, index)
        return self._fold_one(scope, value, index)

    def running(self, scope: Scope, value: Scan, index: Index) -> Expression:
        """The running fold up to here; its axis must be a loop of the nest."""
        place = index[value.axis]
        home = scope
        while home.parent is not None and not place.names.intersection(home.variables):
            home = home.parent
        if home.parent is None or self._depends_inside(scope, home, value, index):
            raise Unfit(value)
        fold = FOLDS[value.op]
        summed = value.op in ("sum", "logaddexp")
        wide = summed and value.dtype == "float32" and self._plan.accumulate != "float"
        ctype = "double" if wide else ctype_of(value.dtype)
        name = home.parent.fresh("run")
        start = _start_of(value)
        if self._lane and home is not scope and scope.lane:
            width = self._plan.lanes
            home.parent.lines.append(f"{ctype} {name}[{width}];")
            home.parent.lines.append(_for_each("v", width, f"{name}[v] = {start};"))
            current: Expression = Element(name, Variable(self._lane))
        else:
            home.parent.lines.append(f"{ctype} {name} = {start};")
            current = Variable(name)
        element = scope.value(value.inputs[0], index)
        scope.lines.append(_grown(fold, current, element))
        return scope.define(value.dtype, current)

    def _depends_inside(self, scope: Scope, home: Scope, value: Scan, index: Index) -> bool:
        """Whether there are several scans, which take turns inside the loop of their axis."""
        inside: set[str] = set()
        while scope is not home and scope.parent is not None:
            inside |= scope.names - {self._lane}
            scope = scope.parent
        others = [part for axis, part in enumerate(index.parts) if axis != value.axis]
        return any(part.names & inside for part in others)

    def _fold_one(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        source, fold = value.inputs[0], FOLDS[value.op]
        accumulator = self._accumulator(value)
        total = scope.fresh("r")
        scope.lines.append(f"{accumulator} {total} = {_start_of(value)};")
        extents = [source.shape[axis] for axis in value.axes]
        names = [scope.fresh("k") for _ in extents]
        for name in names:
            scope.names.discard(name)
        outside, self._work = self._work, product(source.shape).value
        found_nan = scope.fresh("n") if fold.without_nan and value.dtype in _FLOATS else ""
        if found_nan:
            scope.lines.append(f"int {found_nan} = 0;")
        loop = self._innermost(scope, value, index, names, _Total(total, found_nan))
        for name, extent in reversed(list(zip(names, extents, strict=True))[:-1]):
            wrapped = scope.child()
            wrapped.loop(name, extent.code, loop)
            loop = wrapped
        if self._parallel and not scope.folds and self._work > SERIAL_BELOW:
            loop.lines = _shared(loop.lines, _Total(total, found_nan).reductions(fold.simd))
        self._work = max(self._work, outside)
        scope.lines += loop.lines
        if found_nan:
            scope.lines.append(f"{total} = {found_nan} ? {accumulator}(km::nan) : {total};")
        if scope.wide and accumulator == "double":
            scope.doubles.add(total)
        elif accumulator != ctype_of(value.dtype):
            return scope.define(value.dtype, Cast(value.dtype, Variable(total)))
        return Variable(total)

    def _fold_few(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        """Without a loop, so that the loop around it is vectorised instead."""
        source, fold = value.inputs[0], FOLDS[value.op]
        taps = cartesian(*(range(source.shape[axis].value) for axis in value.axes))
        total, *others = (scope.value(source, value.source_index(index, tap)) for tap in taps)
        for other in others:
            total = scope.define(value.dtype, fold.combined(total, other))
        return total

    def _innermost(
        self, scope: Scope, value: Reduce, index: Index, names: list[str], total: "_Total"
    ) -> Scope:
        """The innermost loop, or one for each part of what was joined along it."""
        source, (*_, last) = value.inputs[0], names
        extent, place = source.shape[value.axes[-1]], value.source_index(index, names)
        runs = self._runs(scope, value, place, names)
        if self._worth_keeping(value):
            row = scope.keep(source, place, last, extent.code)
            for run in runs:
                run.body.lines.append(Assign(Element(row, Variable(last)), run.element))
        loop = scope.child()
        for run in runs:
            self._add_loop(loop, value, last, run, total)
        return loop

    def _runs(self, scope: Scope, value: Reduce, place: Index, names: list[str]) -> list[_Run]:
        extent = value.inputs[0].shape[value.axes[-1]]
        whole = _Run(ZERO, extent, *self._body(scope, value, place, names))
        joined = whole.body.joined.get(names[-1])
        if joined is None or self._parallel:
            return [whole]
        runs = []
        for number, (start, part) in enumerate(zip(joined.starts, joined.inputs, strict=True)):
            only = {names[-1]: Part(joined, number)}
            body = self._body(scope, value, place, names, only)
            runs.append(_Run(start, part.shape[joined.axis], *body))
        return runs

    def _body(
        self,
        scope: Scope,
        value: Reduce,
        place: Index,
        names: list[str],
        parts: dict[str, Part] | None = None,
        wide: bool = False,
    ) -> tuple[Scope, Expression]:
        """The body of the innermost loop, and the element that it folds. A fold of folds computes
        what is between them in double: there is little of it, and differences of sums may cancel.
        """
        body = scope.child(*names)
        body.folds += 1
        body.wide = wide
        body.parts = parts or {}
        element = body.value(value.inputs[0], place)
        if not wide and _is_nested(body) and self._accumulator(value) == "double":
            return self._body(scope, value, place, names, parts, wide=True)
        return body, element

    def _add_loop(self, loop: Scope, value: Reduce, name: str, run: _Run, total: "_Total") -> None:
        fold, nested = FOLDS[value.op], _is_nested(run.body)
        if self._blocked(value) and not nested and not loop.wide:
            part = loop.fresh("p")
            run.body.lines.append(_grown(fold, Variable(part), run.element))
            loop.lines.append(_row_in_blocks(name, run, part, total.name))
            return
        combine = fold.without_nan or fold.combine
        run.body.lines.append(
            _grown(fold._replace(combine=combine), Variable(total.name), run.element)
        )
        if total.found_nan:
            invalid = cpp(apply(Operator.NE, run.element, run.element))
            run.body.lines.append(f"{total.found_nan} |= {invalid};")
        demanded = Vectors(16, total.reductions(fold.simd)) if fold.simd and not nested else None
        loop.loop(name, cpp(run.end), run.body, start=cpp(run.start), vectors=demanded)

    def _blocked(self, value: Reduce) -> bool:
        """Whether a sum of floats goes in blocks, where it is long and fast."""
        single = value.op == "sum" and value.dtype == "float32"
        return single and self._plan.accumulate == "blocked"

    def _worth_keeping(self, value: Reduce) -> bool:
        """A row that costs something and is needed again behind the fold."""
        source = value.inputs[0]
        single = len(value.axes) == 1 and value.contiguous and not self._parallel
        folded = isinstance(source, Reduce) and self._accumulator(source) == ctype_of(source.dtype)
        computed = folded or (isinstance(source, Map) and not source.is_cheap)
        return single and computed and id(source) in self._shared and bool(self._plan.keep_rows)

    def _accumulator(self, value: Reduce) -> str:
        if value.op in ("any", "all"):
            return "int"
        sums = value.op == "sum" and value.dtype == "float32"
        return "double" if sums and self._plan.accumulate != "float" else ctype_of(value.dtype)

    def _fold_lanes(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        """One result for every lane of the tile: folds side by side, memory along the lanes."""
        source, fold, lane = value.inputs[0], FOLDS[value.op], self._lane
        name = scope.fresh("r")
        wide = value.op == "sum" and value.dtype == "float32" and self._plan.accumulate == "double"
        ctype = "double" if wide else "int" if value.op in ("any", "all") else ctype_of(value.dtype)
        start = _start_of(value)
        lanes = self._plan.lanes
        scope.lines.append(f"{ctype} {name}[{lanes}];")
        scope.lines.append(_for_each(lane, lanes, f"{name}[{lane}] = {start};"))
        extents = [source.shape[axis] for axis in value.axes]
        names = [scope.fresh("k") for _ in extents]
        for taken in names:
            scope.names.discard(taken)
        between = scope.child(*names)
        first, end = self._window_bounds(between, value, index, names)
        body = Scope(between, (lane,), lane)
        body.folds += 1
        element = body.value(source, value.source_index(index, names))
        body.lines.append(_grown(fold, Element(name, Variable(lane)), element))
        between.loop(lane, cpp(end), body, start=cpp(first), vectors=Vectors())
        blocked = self._blocked_lanes(value)
        for n, extent in reversed(list(zip(names, extents, strict=True))[blocked:]):
            outer = scope.child()
            outer.loop(n, extent.code, between)
            between = outer
        if blocked:
            between = self._lanes_in_blocks(scope, between, names[0], extents, name)
        scope.lines += between.lines
        result = Element(name, Variable(lane))
        return Cast(value.dtype, result) if wide else result

    def _fold_taps(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        source, fold = value.inputs[0], FOLDS[value.op]
        name = scope.fresh("r")
        scope.lines.append(f"{ctype_of(value.dtype)} {name} = {_start_of(value)};")
        names = [f"k{scope.fresh('k')}" for _ in value.axes]
        body = scope.child(*names)
        element = body.value(source, value.source_index(index, names))
        body.lines.append(_grown(fold, Variable(name), element))
        for tap, axis in reversed(list(zip(names, value.axes, strict=True))):
            outer = scope.child()
            outer.loop(tap, source.shape[axis].code, body, unroll=_MOST_UNROLLED)
            body = outer
        scope.lines += body.lines
        return Variable(name)

    def _blocked_lanes(self, value: Reduce) -> bool:
        """A long sum in single precision loses digits: join the sums of blocks in double."""
        extents = [value.inputs[0].shape[axis] for axis in value.axes]
        long = product(extents).value > _LANE_BLOCK or not all(e.fixed for e in extents)
        return long and not value.window and self._blocked(value)

    def _lanes_in_blocks(
        self, scope: Scope, body: Scope, name: str, extents: list[Extent], part: str
    ) -> Scope:
        """The outermost loop of a fold in blocks: `part` keeps the sums of one, then all."""
        total, block, lane = scope.fresh("r"), f"b{name}", self._lane
        step = max(1, _LANE_BLOCK // product(extents[1:]).value)
        scope.lines.append(f"double {total}[{self._plan.lanes}];")
        lanes = self._plan.lanes
        scope.lines.append(_for_each(lane, lanes, f"{total}[{lane}] = 0;"))
        inner = scope.child()
        end = f"std::min<long>({block} + {step}, {extents[0].code})"
        inner.loop(name, end, body, start=block)
        inner.lines += [
            _for_each(lane, lanes, f"{total}[{lane}] += {part}[{lane}];"),
            _for_each(lane, lanes, f"{part}[{lane}] = 0;"),
        ]
        outer = scope.child()
        outer.loop(block, extents[0].code, inner, step=step)
        outer.lines.append(_for_each(lane, lanes, f"{part}[{lane}] = float({total}[{lane}]);"))
        return outer

    def _window_bounds(
        self, scope: Scope, value: Reduce, index: Index, names: list[str]
    ) -> tuple[Expression, Expression]:
        """Leave out what lies outside of the input: it would not change the fold."""
        start, end = expression(self._first), expression(self._tile)
        for slide in value.slides:
            tap, place, along = names[slide.tap], index[slide.place].bare, size(slide.size)
            shift = sub(mul(tap, slide.dilation), slide.pad)
            if self._lane in place.names:
                first = place.operands[0] if isinstance(place, Apply) else place
                origin = scope.define(INDEX, add(mul(first, slide.stride), shift))
                before = apply(Operator.CEIL_DIV, -origin, slide.stride)
                start = scope.define(INDEX, apply(Operator.PLACE_MAX, self._first, before))
                behind = apply(Operator.CEIL_DIV, sub(along, origin), slide.stride)
                end = scope.define(INDEX, apply(Operator.PLACE_MIN, self._tile, behind))
            else:
                here = scope.define(INDEX, add(mul(place, slide.stride), shift))
                outside = apply(Operator.OR, here < 0, here >= along)
                scope.lines.append(If(outside, ["continue;"]))
        return start, end

    def _find(self, scope: Scope, value: Reduce, index: Index) -> Expression:
        """The first place of the greatest (or least) element: the element first, then its place."""
        source = value.inputs[0]
        best = Reduce(source, value.axes, value.op.removeprefix("arg"), source.dtype)
        extreme = scope.value(best, index)
        (axis,) = value.axes
        place, name = scope.fresh("r"), scope.fresh("k")
        scope.names.discard(name)
        scope.lines.append(f"int64_t {place} = {source.shape[axis].code};")
        body = scope.child(name)
        element = body.value(source, value.source_index(index, [name]))
        same, invalid = apply(Operator.EQ, element, extreme), apply(Operator.NE, element, element)
        found = apply(Operator.BIT_OR, same, invalid)  # NaN is found first
        earlier = apply(Operator.AND, found, Variable(name) < place)
        body.lines.append(Assign(Variable(place), select(earlier, name, place)))
        vectors = Vectors(reductions=(Reduction("min", place),))
        scope.loop(name, source.shape[axis].code, body, vectors=vectors)
        return Variable(place)


def _grown(fold: Fold, total: Expression, element: Expression) -> Assign:
    """The statement that folds one more element."""
    return Assign(total, fold.combined(total, element))


def _for_each(variable: str, count: int, statement: str) -> Loop:
    """A small loop of one statement."""
    return Loop(variable, str(count), [statement], in_line=True)


def _shared(lines: Statements, reductions: tuple[Reduction, ...]) -> list[Statement]:
    """The same with its first loop divided among the threads."""
    first, *others = lines
    if not isinstance(first, Loop):
        return [first, *others]
    return [replace(first, threads=Threads(reductions=reductions, schedule="")), *others]


def _row_in_blocks(name: str, run: _Run, part: str, total: str) -> Block | Loop:
    """A loop that sums into `part`, which joins `total` now and then."""
    vectors = Vectors(16, (Reduction("+", part),))
    start, joined = f"float {part} = 0;", f"{total} += {part};"
    if run.extent.fixed and run.extent.value <= _BLOCK:
        row = Loop(name, cpp(run.end), run.body.lines, cpp(run.start), vectors=vectors)
        return Block("{", [start, row, joined])
    block = f"b{name}"
    end = f"const long end = std::min<long>({block} + {_BLOCK}, {cpp(run.end)});"
    row = Loop(name, "end", run.body.lines, block, vectors=vectors)
    return Loop(block, cpp(run.end), [start, end, row, joined], cpp(run.start), _BLOCK)


def _is_short(value: Reduce) -> bool:
    extents = [value.inputs[0].shape[axis] for axis in value.axes]
    few = all(extent.fixed for extent in extents) and 1 <= product(extents).value <= _FEW
    return few and value.op not in ("any", "all")


def _is_nested(body: Scope) -> bool:
    return has_loop(body.lines)


def _repeated(scope: Scope, index: Index) -> bool:
    """Whether a fold inside of folds would be computed again and again: too deep inside, or the
    same for several elements of the fold around it."""
    outside = set(scope.variables) - {scope.lane}
    return scope.folds >= _MOST_NESTED or not index.names.issuperset(outside)
