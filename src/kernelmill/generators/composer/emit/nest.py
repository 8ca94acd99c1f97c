"""Loop nests: one stored value, computed element by element."""

from typing import NamedTuple

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.folds import Folding
from kernelmill.generators.composer.emit.scope import Scope, Unfit
from kernelmill.generators.composer.graph import Extent
from kernelmill.generators.composer.index import Flat, Index, atom, product, unravel
from kernelmill.generators.composer.values import Buffer, Reduce, Scan, Value

_LANE = "v"
_TILE = "width"
_SMALL = 8
"""With fewer results than this, the threads share the folds instead of the results."""


class _Use(NamedTuple):
    """A fold, and the loops of the nest that it depends on."""

    value: Reduce | Scan
    variables: frozenset[str]


class _Level(NamedTuple):
    head: str
    scope: Scope
    pragma: str = ""


def emit_nest(
    value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer], shared: set[int]
) -> list[str]:
    """The C++ of one nest. Raises Unfit for what must be stored before.

    `shared` are the ids of values with more than one user.
    """
    if isinstance(value, Scan) and value.axis == len(value.shape) - 1:
        return _emit_rows_scanned(value, target, plan, stored)
    uses = _probe(value, plan, stored)
    if not uses:
        lines = _emit_flat(value, target, plan, stored)
        if lines is not None:
            return lines
    return _Nest(value, target, plan, stored, uses, shared).emit()


def _emit_rows_scanned(
    value: Scan, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[str]:
    """A scan along memory: the row first, then the run time's vectorised scan in place."""
    rows, length = product(value.shape[:-1]), value.shape[-1]
    root = Scope(stored=stored)
    outer = root.child("row")
    body = outer.child("column")
    lead = unravel("row", value.shape[:-1])
    element = body.value(value.inputs[0], Index([*lead, "column"]))
    outer.lines.append(f"{value.ctype}* line = {target.name} + row * {atom(length.code)};")
    body.lines.append(f"line[column] = {element};")
    outer.loop(f"for (long column = 0; column < {length.code}; ++column)", body, "#pragma omp simd")
    outer.lines.append(f"km::scan<km::{value.op}>(line, {length.code});")
    worth = product(value.shape).value > plan.serial_below and plan.parallel == "outer"
    pragma = "#pragma omp parallel for schedule(static)" if worth else ""
    root.loop(f"for (long row = 0; row < {rows.code}; ++row)", outer, pragma)
    return root.lines


def _emit_flat(
    value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[str] | None:
    """One loop over all elements, where no operand needs to know rows from columns."""
    total = product(value.shape)
    root = Scope(stored=stored)
    body = root.child("f")
    index = Flat("f", value.shape)
    result = body.value(value, index)
    if index.taken_apart:
        return None
    body.lines.append(f"{target.name}[f] = {result};")
    pragma = "#pragma omp simd"
    if plan.parallel == "outer" and total.value > plan.serial_below:
        pragma = "#pragma omp parallel for simd schedule(static)"
    root.loop(f"for (long f = 0; f < {total.code}; ++f)", body, pragma)
    return root.lines


class _Probing(Folding):
    """Writes nothing that stays; notes which folds are met and what they depend on."""

    def __init__(self, plan: Plan, variables: tuple[str, ...]) -> None:
        super().__init__(plan, "", "", parallel=False, shared=set())
        self._variables = variables
        self.uses: list[_Use] = []

    def fold(self, scope: Scope, value: Reduce, index: Index) -> str:
        self._note(value, index)
        return super().fold(scope, value, index)

    def running(self, scope: Scope, value: Scan, index: Index) -> str:
        if index[value.axis] not in self._variables or value.axis == len(value.shape) - 1:
            raise Unfit(value)
        self._note(value, index, without=index[value.axis])
        return scope.value(value.inputs[0], index)

    def _note(self, value: Reduce | Scan, index: Index, without: str = "") -> None:
        text = " ".join(index.parts)
        found = frozenset(
            v for v in self._variables if v in text.replace("[", " ").split() or v in text
        )
        self.uses.append(_Use(value, found - {without}))


def _probe(value: Value, plan: Plan, stored: dict[int, Buffer]) -> list[_Use]:
    variables = tuple(f"i{axis}_" for axis in range(len(value.shape)))
    scope = Scope(variables=variables, stored=stored)
    probing = _Probing(plan, variables)
    scope.folding = probing
    scope.value(value, Index(variables))
    return probing.uses


class _Nest:
    def __init__(
        self,
        value: Value,
        target: Buffer,
        plan: Plan,
        stored: dict[int, Buffer],
        uses: list[_Use],
        shared: set[int],
    ) -> None:
        self._value, self._target, self._plan = value, target, plan
        self._stored = stored
        self._uses = uses
        self._shared = shared
        self._rank = len(value.shape)
        self._last = f"i{self._rank - 1}_"
        self._scans = [use for use in uses if isinstance(use.value, Scan)]
        self._order = self._loop_order()
        self._tiled = self._wants_tiles()

    def emit(self) -> list[str]:
        small = product(self._value.shape).value < _SMALL
        root = Scope(stored=self._stored)
        lane = _LANE if self._tiled else ""
        root.folding = Folding(self._plan, lane, _TILE if self._tiled else "", small, self._shared)
        levels = self._levels(root)
        inner = levels[-1].scope if levels else root
        # Once for the folds to find their places; then again, with the rows they keep at hand.
        inner.value(self._value, self._index())
        if not self._scans:
            inner.clear()
        result = inner.value(self._value, self._index())
        inner.lines.append(
            f"{self._target.name}[{self._index().ravel(self._target.shape)}] = {result};"
        )
        return self._assemble(root, levels, small)

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
        parts = [f"i{axis}_" for axis in range(self._rank)]
        if self._tiled:
            parts[-1] = f"{self._last} + {_LANE}"
        return Index(parts)

    def _levels(self, root: Scope) -> list[_Level]:
        levels: list[_Level] = []
        scope = root
        for axis in self._order:
            name, extent = f"i{axis}_", self._value.shape[axis]
            scope = scope.child(name)
            if self._tiled and axis == self._rank - 1:
                lanes = self._plan.lanes
                levels.append(
                    _Level(
                        f"for (long {name} = 0; {name} < {extent.code}; {name} += {lanes})", scope
                    )
                )
                scope.names.add(_TILE)
            else:
                levels.append(
                    _Level(f"for (long {name} = 0; {name} < {extent.code}; ++{name})", scope)
                )
        if self._tiled:
            scope = Scope(scope, (_LANE,), _LANE)
            levels.append(
                _Level(
                    f"for (long {_LANE} = 0; {_LANE} < {_TILE}; ++{_LANE})",
                    scope,
                    "#pragma omp simd",
                )
            )
        elif levels and self._order[-1] == self._rank - 1 and self._simd_last():
            levels[-1] = levels[-1]._replace(pragma="#pragma omp simd")
        return levels

    def _simd_last(self) -> bool:
        """The innermost loop carries neither a scan nor a fold of its own."""
        scanned = any(
            use.value.axis == self._rank - 1 for use in self._scans if isinstance(use.value, Scan)
        )
        folded = any(self._last in use.variables for use in self._uses)
        return not scanned and not folded

    def _assemble(self, root: Scope, levels: list[_Level], small: bool) -> list[str]:
        own = [bool(level.scope.lines) for level in levels]
        shared = next((depth for depth, busy in enumerate(own) if busy), len(levels) - 1) + 1
        shared = min(
            shared, len(levels) - (1 if levels and levels[-1].pragma and len(levels) > 1 else 0)
        )
        scan_axes = {use.value.axis for use in self._scans if isinstance(use.value, Scan)}
        for depth, axis in enumerate(self._order):
            if axis in scan_axes:
                shared = min(shared, depth)
        for depth in range(len(levels) - 1, -1, -1):
            level = levels[depth]
            if self._tiled and level.head.endswith(f"{self._last} += {self._plan.lanes})"):
                extent = self._value.shape[-1].code
                level.scope.lines.insert(
                    0,
                    f"const long {_TILE} = std::min<long>({self._plan.lanes}, {extent} - {self._last});",
                )
            outer = levels[depth - 1].scope if depth else root
            outer.loop(level.head, level.scope, self._pragma(level, depth, shared, small))
        return root.lines

    def _pragma(self, level: _Level, depth: int, shared: int, small: bool) -> str:
        if (
            depth
            or not shared
            or small
            or self._plan.parallel == "none"
            or not self._worth_sharing()
        ):
            return level.pragma
        simd = " simd" if level.pragma and shared == 1 else ""
        collapse = f" collapse({shared})" if shared > 1 else ""
        return f"#pragma omp parallel for{simd}{collapse} schedule(static)"

    def _worth_sharing(self) -> bool:
        work = product(self._value.shape).value
        for use in self._uses:
            if isinstance(use.value, Reduce):
                source: tuple[Extent, ...] = use.value.inputs[0].shape
                work = max(work, product(source).value)
        return work > self._plan.serial_below
