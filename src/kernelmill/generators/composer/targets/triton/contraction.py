"""Contractions: products of tiles, with what follows them fused into the store.

A convolution is one too: its columns are the places of the output, and its depth goes channel by
channel through one tap of the window after the other, so that only a tile's columns need to know
where the window is.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.expressions import Element, Expression, Plain, Variable
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import ZERO, Index, Joint, product, unravel
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Buffer,
    Contract,
    Coordinate,
    Guarded,
    Literal,
    Map,
    Unfit,
    Value,
    View,
)
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.folds import WindowFolding
from kernelmill.generators.composer.targets.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    padded,
    program_id,
)
from kernelmill.generators.composer.targets.triton.scope import Scope, Tile
from kernelmill.generators.composer.targets.triton.walk import Turned, Walk

_PROCESSORS = 132
_LEAST = 16
"""The smallest side of a tile."""
_ALONG_DEPTH, _ACROSS_DEPTH = 128, 64
"""Columns of a tile: tensor cores want the depth of floats side by side, and an operand that lies
across it goes through registers."""
_LEAST_DEPTH = 256
"""What is left to each program when the depth is split."""
_SHARED_BYTES = 220_000
"""Of a multiprocessor's fast memory, a little less than there is."""
_MOST_SUMS = 1 << 28
"""Elements of all parts of a depth that is split."""
_ONE = Extent("1", 1)


class Axes(NamedTuple):
    """Which axis of a tile each index runs along."""

    rows: Tile
    columns: Tile
    left: Tile
    """The depth of the left operand."""
    right: Tile


UPRIGHT = Axes(
    Tile("m", 0, "TILE_M"), Tile("n", 1, "TILE_N"), Tile("ka", 1, "TILE_K"), Tile("kb", 0, "TILE_K")
)
LYING = Axes(*(tile._replace(axis=1 - tile.axis) for tile in UPRIGHT))
"""With rows and columns exchanged."""


class Sums(Buffer):
    """Memory in which a value lies in several parts, to be summed where it is read."""

    def __init__(self, name: str, value: Value, parts: int) -> None:
        super().__init__(name, value.shape, value.dtype)
        self.parts = parts

    @property
    def whole(self) -> Buffer:
        """The same memory, with its parts as an axis."""
        return Buffer(self.name, [Extent(str(self.parts), self.parts), *self.shape], self.dtype)

    def emit(self, scope: "Scope", index: Index) -> Expression:  # type: ignore[override]
        shape = self.whole.shape
        first, *others = (
            scope.define(self.dtype, Element(self.name, Index([part, *index]).ravel(shape)))
            for part in range(self.parts)
        )
        total: Expression = first
        for other in others:
            total = total + other
        return scope.define(self.dtype, total)


class Tiling(NamedTuple):
    rows: int
    columns: int
    depth: int

    @property
    def warps(self) -> int:
        return 8 if self.rows * self.columns >= 128 * 128 else 4


class Contraction(ABC):
    """One contraction under a plan, before it is written."""

    axes = UPRIGHT
    element_bytes = 4
    """What an element of an operand takes in fast memory."""

    def __init__(
        self, contract: Contract, plan: Plan, stored: dict[int, Any], walk: Walk | None
    ) -> None:
        self.contract = contract
        self._form = contract.form
        self._plan = plan
        self._stored = stored
        left = self._form.left("b", "m", "k")
        self._shares_left = "b" not in left.names
        self._walk = walk
        self._columns = self._column_extents()

    @abstractmethod
    def _loop(self, scope: Scope, places: "Places", split: int) -> list[str]:
        """Lines of the loop that sums up products."""

    @abstractmethod
    def _chosen_tiling(self) -> Tiling:
        """Where the plan leaves it open."""

    def _chosen_stages(self) -> int:
        """Where the plan leaves it open, if so many fit."""
        return 3

    @property
    def stages(self) -> int:
        """Tiles on their way: as many as are wanted and fit."""
        wanted = self._plan.stages
        rows, columns, depth = self.tiling
        fitting = _SHARED_BYTES // (self.element_bytes * depth * (rows + columns))
        return max(2, min(self._chosen_stages() if wanted == "auto" else int(wanted), fitting))

    @cached_property
    def tiling(self) -> Tiling:
        if self._plan.tile != "auto":
            return Tiling(*(int(side) for side in self._plan.tile.split("x")))
        return self._chosen_tiling()

    @property
    def columns(self) -> Extent:
        """Of all batch items, where they share their left operand."""
        return product(self._columns)

    @property
    def batch(self) -> Extent:
        return _ONE if self._shares_left else self._form.batch

    @property
    def split(self) -> int:
        """Programs to a tile."""
        room = max(1, _MOST_SUMS // product(self.contract.shape).value)
        if self._plan.split != "auto":
            return min(int(self._plan.split), room)
        tiles = self.batch.value * (self._walk.phases if self._walk else 1)
        tiles *= -(-self._form.rows.value // self.tiling.rows)
        tiles *= -(-self.columns.value // self.tiling.columns)
        most = min(room, self._form.depth.value // _LEAST_DEPTH)
        split = 1
        while tiles * split * 2 <= 2 * _PROCESSORS and split * 2 <= most:
            split *= 2
        return split

    def launch(self, result: Value, target: Buffer, split: int = 1) -> Launch:
        form, plan, tiling, axes = self._form, self._plan, self.tiling, self.axes
        scope = new_scope(2, self._stored)
        scope.frame.folding = WindowFolding()
        scope.lines += self._place_lines(scope)
        add_tile(scope, axes.rows, "tile_m * TILE_M", form.rows, plan)
        add_tile(scope, axes.columns, "tile_n * TILE_N", self.columns, plan)
        places = self._places(scope)
        both = frozenset({axes.rows.name, axes.columns.name})
        scope.lines.append(f"sum = tl.zeros({scope.frame.shape(both)}, tl.float32)")
        scope.lines += self._loop(scope, places, split)
        scope.frame.types["sum"] = "float32"
        scope.frame.depends["sum"] = both
        scope.frame.contraction = self.contract
        epilogue = scope.child(fence=True)
        index = form.out(places.batch, "m", places.line, places.column)
        if split > 1:
            epilogue.store(target, Index(["part", *index]), "sum")
        else:
            epilogue.store(target, index, epilogue.value(result, index))
        counts = [blocks(form.rows, str(tiling.rows)), blocks(self.columns, str(tiling.columns))]
        counts.append(host(self.batch.code))
        counts.append(str(self._walk.phases if self._walk else 1))
        grid = " * ".join(f"({count})" for count in counts if count != "1")
        constants = {"TILE_M": str(tiling.rows), "TILE_N": str(tiling.columns),
                     "TILE_K": str(tiling.depth), "GROUP": str(plan.swizzle)}  # fmt: skip
        warps = str(plan.warps if plan.warps != "auto" else tiling.warps)
        stages = str(self.stages)
        lines = [*scope.lines, *epilogue.lines]
        if plan.resident:
            grid = f"min({grid}, {plan.resident * _PROCESSORS})"
            tiles = f"{program_id()}, {self._tiles(scope)}, tl.num_programs(0)"
            lines = [f"for tile in range({tiles}):", *(f"    {line}" for line in lines)]
        return Launch(lines, scope.frame.memory, (grid, str(split)), constants, warps, stages)

    def _tiles(self, scope: Scope) -> str:
        """How many there are, in the kernel."""
        rows, columns = (scope.size(one).code for one in (self._form.rows, self.columns))
        counts = [f"tl.cdiv({rows}, TILE_M)", f"tl.cdiv({columns}, TILE_N)"]
        counts.append(scope.size(self.batch).code)
        counts.append(str(self._walk.phases if self._walk else 1))
        return " * ".join(count for count in counts if count != "1")

    def _place_lines(self, scope: Scope) -> list[str]:
        """Which tile this is: neighbours in time share columns, or rows, in the cache."""
        rows = scope.size(self._form.rows).code
        columns = scope.size(self.columns).code
        pid = "tile" if self._plan.resident else program_id()
        lines = [f"pid = {pid}", "part = tl.program_id(1)"]
        if self._walk:
            lines += self._walk.phase_lines(scope)
        lines += [
            f"tiles_m = tl.cdiv({rows}, TILE_M)",
            f"tiles_n = tl.cdiv({columns}, TILE_N)",
        ]
        if self.batch.code != "1":
            lines += ["b = pid // (tiles_m * tiles_n)", "pid = pid % (tiles_m * tiles_n)"]
        return [
            *lines,
            "group = pid // (GROUP * tiles_n)",
            "height = tl.minimum(tiles_m - group * GROUP, GROUP)",
            "tile_m = group * GROUP + pid % (GROUP * tiles_n) % height",
            "tile_n = pid % (GROUP * tiles_n) // height",
        ]

    def _column_extents(self) -> list[Extent]:
        form = self._form
        lead = [form.batch] if self._shares_left else []
        inner = self._walk.places if self._walk else [form.lines, form.columns]
        return [*lead, *inner]

    def _places(self, scope: Scope) -> "Places":
        """What a column is: an item of the batch, and a place of the output."""
        parts = list(unravel("n", self._columns))
        single = ZERO if self.batch.code == "1" else Variable("b")
        batch = parts.pop(0) if self._shares_left else single
        if not self._walk:
            return Places(batch, parts[0], parts[1], tuple(parts))
        places = self._walk.outputs(parts)
        for place, extent in self._walk.doubtful(places):
            inside = scope.write(place < size(extent)).code
            scope.lines.append(f"n_in = n_in & ({inside})")
        outputs = self._walk.window.places
        return Places(batch, Joint.of(places[:-1], outputs[:-1]), places[-1], tuple(parts))


class Direct(Contraction):
    """Operands are read where they lie, or where a convolution's have been turned to."""

    def __init__(
        self,
        contract: Contract,
        plan: Plan,
        precision: str,
        stored: dict[int, Any],
        turned: Turned,
    ) -> None:
        self._precision = precision
        super().__init__(contract, plan, stored, Walk.through(contract.form))
        self._turned = turned
        self._before = stored
        self._stored = self._with_operands_turned()

    def _loop(self, scope: Scope, places: "Places", split: int) -> list[str]:
        form, plan, walk = self._form, self._plan, self._walk
        body = scope.child("step")
        left_depth: Plain = "ka"
        right_depth: Plain = "kb"
        if walk:
            across = f"tl.cdiv({walk.channels.code}, TILE_K)"
            steps = f"{walk.taps} * {across}"
            body.lines.append(f"tap = step // {across}")
            body.names.add("tap")
            start, along = f"step % {across} * TILE_K", walk.channels
            left_depth, right_depth = walk.depth("ka"), walk.depth("kb")
        else:
            start, along = "step * TILE_K", form.depth
            steps = f"tl.cdiv({scope.size(form.depth).code}, TILE_K)"
        add_tile(body, self.axes.left, start, along, plan)
        add_tile(body, self.axes.right, start, along, plan)
        if split > 1:
            body.lines += [f"{side}_in = {side}_in & (step < {steps})" for side in ("ka", "kb")]
        left = self._operand(body, 0, form.left(places.batch, "m", left_depth), "[TILE_M, TILE_K]")
        index = form.right(places.batch, right_depth, places.line, places.column)
        right = self._operand(body, 1, index, "[TILE_K, TILE_N]")
        body.lines.append(
            f'sum = tl.dot({left}, {right}, sum, input_precision="{self._precision}")'
        )
        return looped(body.lines, steps, split)

    def _operand(self, scope: Scope, number: int, index: Index, shape: str) -> str:
        value = self.contract.inputs[number]
        self._demand_cheap(value)
        term = scope.write(scope.value(value, index))
        tiles = scope.frame.tiles_of(term.names)
        if scope.frame.shape(tiles) != shape:
            return f"tl.broadcast_to({term.code}, {shape})"
        return term.code

    def _demand_cheap(self, value: Value) -> None:
        """An operand is looked at more than once: what costs something is computed before."""
        value = self._beneath(value)
        if isinstance(value, Buffer | Literal):
            return
        simple = isinstance(value, Map) and value.is_cheap and bool(self._plan.fuse)
        if not simple or not all(
            isinstance(self._beneath(source), Buffer | Literal | Coordinate)
            for source in value.inputs
        ):
            raise Unfit(value)

    def _beneath(self, value: Value) -> Value:
        while id(value) in self._stored or isinstance(value, View | Guarded):
            value = self._stored[id(value)] if id(value) in self._stored else value.inputs[0]
        return value

    def _with_operands_turned(self) -> dict[int, Any]:
        """What stands for values, with copies of the operands in which channels are neighbours."""
        operand = self._plan.operand if self._walk else "direct"
        if operand == "auto":
            operand = "packed" if self._walk and self._walk.count > 1 else "direct"
        if operand == "direct" or not self._walk:
            return self._stored
        found = dict(self._stored)
        wanted = [self.contract.inputs[0]]
        wanted += [self._walk.window.source] if operand == "channels-last" else []
        for value in wanted:
            copy = self._turned.of(value, first=value is wanted[0])
            if id(copy) not in self._stored:
                raise Unfit(copy)
            found[id(value)] = self._turned.back(value, self._stored[id(copy)])
        return found

    def _chosen_tiling(self) -> Tiling:
        rows = side_of(self._form.rows, self._plan.shrunk(128))
        most = _ALONG_DEPTH if self._right_runs_along_depth() else _ACROSS_DEPTH
        most = most if rows > self._plan.shrunk(64) else 2 * most
        columns = side_of(self.columns, self._plan.shrunk(most))
        depth = self._walk.channels if self._walk else self._form.depth
        return Tiling(rows, columns, side_of(depth, 32))

    def _right_runs_along_depth(self) -> bool:
        if self._walk:
            return id(self._walk.window.source) in self._stored.keys() - self._before.keys()
        return self._form.right_along == "k"


class Places(NamedTuple):
    batch: Expression
    line: Expression
    column: Expression
    parts: tuple[Expression, ...]
    """Along each axis, as the walk counts them: of a phase, where there are several."""


def looped(lines: list[str], steps: str, split: int) -> list[str]:
    """A loop over all steps, or over one program's share of them."""
    if split == 1:
        return [f"for step in range(0, {steps}):", *(f"    {line}" for line in lines)]
    own = f"step = part * tl.cdiv({steps}, {split}) + own_step"
    return [
        f"for own_step in range(0, tl.cdiv({steps}, {split})):",
        *(f"    {line}" for line in (own, *lines)),
    ]


def side_of(extent: Extent, most: int) -> int:
    return max(_LEAST, min(most, padded(extent)))
