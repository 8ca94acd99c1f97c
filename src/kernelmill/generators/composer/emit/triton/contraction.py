"""Contractions: products of tiles, with what follows them fused into the store.

A convolution is one too: its columns are the places of the output, and its depth goes channel by
channel through one tap of the window after the other, so that only a tile's columns need to know
where the window is.
"""

import re
from typing import NamedTuple

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.emit.triton.code import host
from kernelmill.generators.composer.emit.triton.folds import WindowFolding
from kernelmill.generators.composer.emit.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    program_id,
)
from kernelmill.generators.composer.emit.triton.scope import Scope, Tile
from kernelmill.generators.composer.graph import Extent
from kernelmill.generators.composer.index import Index, Joint, product, unravel
from kernelmill.generators.composer.values import Buffer, Contract, Literal, Map, Value, View

_PROCESSORS = 132
_LEAST = 16
"""The smallest side of a tile."""
_LEAST_DEPTH = 256
"""What is left to each program when the depth is split."""
_ROWS, _COLUMNS = Tile("m", 0, "TILE_M"), Tile("n", 1, "TILE_N")
_LEFT_DEPTH, _RIGHT_DEPTH = Tile("ka", 1, "TILE_K"), Tile("kb", 0, "TILE_K")
_ONE = Extent("1", 1)


class Sums(Buffer):
    """Memory in which a value lies in several parts, to be summed where it is read."""

    def __init__(self, name: str, value: Value, parts: int) -> None:
        super().__init__(name, value.shape, value.dtype)
        self.parts = parts

    @property
    def whole(self) -> Buffer:
        """The same memory, with its parts as an axis."""
        return Buffer(self.name, [Extent(str(self.parts), self.parts), *self.shape], self.dtype)

    def emit(self, scope: "Scope", index: Index) -> str:  # type: ignore[override]
        whole = self.whole
        terms = [
            scope.define(
                self.ctype, f"{self.name}[{Index([str(part), *index]).ravel(whole.shape)}]"
            )
            for part in range(self.parts)
        ]
        return scope.define(self.ctype, " + ".join(terms))


class Tiling(NamedTuple):
    rows: int
    columns: int
    depth: int

    @property
    def warps(self) -> int:
        return 8 if self.rows * self.columns >= 128 * 128 else 4


class Contraction:
    """One contraction under a plan, before it is written."""

    def __init__(self, contract: Contract, plan: Plan, stored: dict[int, Buffer]) -> None:
        self.contract = contract
        self._form = contract.form
        self._plan, self._stored = plan, stored
        left = self._form.left("b", "m", "k")
        self._shares_left = not any(re.search(r"\bb\b", part) for part in left)
        self._taps = self._tap_sizes()
        self._tiling = self._chosen_tiling()

    @property
    def columns(self) -> Extent:
        """Of all batch items, where they share their left operand."""
        form = self._form
        inner = product([form.lines, form.columns])
        return product([form.batch, inner]) if self._shares_left else inner

    @property
    def batch(self) -> Extent:
        return _ONE if self._shares_left else self._form.batch

    @property
    def split(self) -> int:
        """Programs to a tile."""
        if self._plan.split != "auto":
            return int(self._plan.split)
        tiles = self.batch.value
        for extent, side in (
            (self._form.rows, self._tiling.rows),
            (self.columns, self._tiling.columns),
        ):
            tiles *= -(-extent.value // side)
        most = self._form.depth.value // _LEAST_DEPTH
        split = 1
        while tiles * split * 2 <= 2 * _PROCESSORS and split * 2 <= most:
            split *= 2
        return split

    def launch(self, result: Value, target: Buffer, split: int = 1) -> Launch:
        form, plan = self._form, self._plan
        scope = new_scope(2, self._stored)
        scope.frame.folding = WindowFolding()
        scope.lines += self._place_lines(scope)
        add_tile(scope, _ROWS, "tile_m * TILE_M", form.rows, plan)
        add_tile(scope, _COLUMNS, "tile_n * TILE_N", self.columns, plan)
        batch, line, column = self._column_parts()
        scope.lines.append("sum = tl.zeros([TILE_M, TILE_N], tl.float32)")
        body = self._depth_loop(scope, batch, line, column, split)
        scope.frame.types["sum"] = "float32"
        scope.frame.depends["sum"] = frozenset({"m", "n"})
        scope.frame.contraction = self.contract
        epilogue = scope.child(fence=True)
        index = form.out(batch, "m", line, column)
        if split > 1:
            epilogue.store(target, Index(["part", *index]), "sum")
        else:
            epilogue.store(target, index, epilogue.value(result, index))
        lines = [*scope.lines, *body, *epilogue.lines]
        tiling = self._tiling
        grid = (
            f"{blocks(form.rows, str(tiling.rows))} * ({blocks(self.columns, str(tiling.columns))})"
        )
        if self.batch.code != "1":
            grid += f" * {host(self.batch.code)}"
        constants = {"TILE_M": str(tiling.rows), "TILE_N": str(tiling.columns),
                     "TILE_K": str(tiling.depth), "GROUP": str(plan.swizzle)}  # fmt: skip
        warps = str(plan.warps if plan.warps != "auto" else tiling.warps)
        stages = str(plan.stages if plan.stages != "auto" else 3)
        return Launch(lines, scope.frame.memory, (grid, str(split)), constants, warps, stages)

    def _place_lines(self, scope: Scope) -> list[str]:
        """Which tile this is: neighbours in time share columns, or rows, in the cache."""
        rows = scope.write(self._form.rows.code).code
        columns = scope.write(self.columns.code).code
        lines = [
            f"pid = {program_id()}",
            "part = tl.program_id(1)",
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

    def _column_parts(self) -> tuple[str, str, str]:
        form = self._form
        if self._shares_left:
            batch, line, column = unravel("n", [form.batch, form.lines, form.columns])
            return batch, line, column
        line, column = unravel("n", [form.lines, form.columns])
        return "b", line, column

    def _depth_loop(
        self, scope: Scope, batch: str, line: str, column: str, split: int
    ) -> list[str]:
        """Lines of the loop that sums up products."""
        form, plan = self._form, self._plan
        body = scope.child("step")
        left_depth: str = "ka"
        right_depth: str = "kb"
        if self._taps:
            channels, *sizes = self._taps
            count = product(sizes)
            body.lines.append(f"tap = step // tl.cdiv({channels.code}, TILE_K)")
            body.names.add("tap")
            start = f"step % tl.cdiv({channels.code}, TILE_K) * TILE_K"
            taps = unravel("tap", sizes)
            along = channels
            left_depth, right_depth = (Joint.of([tile, *taps], self._taps) for tile in ("ka", "kb"))
            steps = f"{count.code} * tl.cdiv({channels.code}, TILE_K)"
        else:
            start, along = "step * TILE_K", form.depth
            steps = f"tl.cdiv({scope.write(form.depth.code).code}, TILE_K)"
        add_tile(body, _LEFT_DEPTH, start, along, plan)
        add_tile(body, _RIGHT_DEPTH, start, along, plan)
        if split > 1:
            body.lines.append(f"ka_in = ka_in & (step < {steps})")
        left = self._operand(body, 0, form.left(batch, "m", left_depth), "[TILE_M, TILE_K]")
        right = self._operand(
            body, 1, form.right(batch, right_depth, line, column), "[TILE_K, TILE_N]"
        )
        body.lines.append(f'sum = tl.dot({left}, {right}, sum, input_precision="{plan.precision}")')
        if split == 1:
            return [f"for step in range(0, {steps}):", *(f"    {line}" for line in body.lines)]
        own = f"step = part * tl.cdiv({steps}, {split}) + own_step"
        return [
            f"for own_step in range(0, tl.cdiv({steps}, {split})):",
            *(f"    {line}" for line in (own, *body.lines)),
        ]

    def _operand(self, scope: Scope, number: int, index: Index, shape: str) -> str:
        value = self.contract.inputs[number]
        self._demand_cheap(value)
        term = scope.write(scope.value(value, index))
        tiles = scope.frame.tiles_in(term.code)
        if scope.frame.shape(tiles) != shape:
            return f"tl.broadcast_to({term.code}, {shape})"
        return term.code

    def _demand_cheap(self, value: Value) -> None:
        """An operand is looked at more than once: what costs something is computed before."""
        value = self._beneath(value)
        if isinstance(value, Buffer | Literal):
            return
        simple = isinstance(value, Map) and "km::" not in value.template and bool(self._plan.fuse)
        if not simple or not all(
            isinstance(self._beneath(source), Buffer | Literal) for source in value.inputs
        ):
            raise Unfit(value)

    def _beneath(self, value: Value) -> Value:
        value = self._stored.get(id(value), value)
        while not isinstance(value, Buffer | Literal | Map) and len(value.inputs) == 1:
            if not isinstance(value, View) and not hasattr(value, "_condition"):
                break
            value = self._stored.get(id(value.inputs[0]), value.inputs[0])
        return value

    def _tap_sizes(self) -> list[Extent]:
        """Channels and window of a convolution that is walked tap by tap."""
        window = self._form.window
        if window is None or window.channels < _LEAST:
            return []
        sizes = [Extent(str(move.kernel), move.kernel) for move in window.moves]
        return [Extent(str(window.channels), window.channels), *sizes]

    def _chosen_tiling(self) -> Tiling:
        if self._plan.tile != "auto":
            return Tiling(*(int(side) for side in self._plan.tile.split("x")))
        rows = _side(self._form.rows, 128)
        columns = _side(self.columns, 128 if rows > 64 else 256)
        depth = self._taps[0] if self._taps else self._form.depth
        return Tiling(rows, columns, _side(depth, 32))


def _side(extent: Extent, most: int) -> int:
    side = 1 << max(0, extent.value - 1).bit_length()
    return max(_LEAST, min(most, side))
