"""Contractions whose operands are in planes."""

from collections.abc import Callable
from typing import Any

from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.index import add, mul, product
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import Buffer, Contract
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.contraction import (
    LYING,
    UPRIGHT,
    Axes,
    Contraction,
    Places,
    Tiling,
    looped,
    side_of,
)
from kernelmill.generators.composer.targets.triton.launch import add_tile
from kernelmill.generators.composer.targets.triton.planes import (
    Packed,
    Planes,
    Split,
    WindowPlanes,
)
from kernelmill.generators.composer.targets.triton.scope import Scope
from kernelmill.generators.composer.targets.triton.walk import Walk

_SIDE = 128
_DEPTH_BYTES, _LEAST_DEPTH, _MOST_DEPTH = 128, 32, 64
"""Bytes of a row of one operand's tile, and what its depth is at least and at most."""
_LYING_ROWS = 64
"""Up to this many rows are columns to the tensor cores, which want many rows."""


class PlaneProducts(Contraction):
    def __init__(
        self,
        contract: Contract,
        plan: Plan,
        stored: dict[int, Any],
        split: Split,
        pack: Callable[[Packed, Split], Buffer],
    ) -> None:
        """`pack` has an operand stored in planes; it raises Unfit for what must be before."""
        self._split = split
        self.element_bytes = split.element_bytes
        window = contract.form.window
        walk = Walk(window) if window else None
        super().__init__(contract, plan, stored, walk)
        shared = self._shares_left
        self._planes = WindowPlanes(contract, shared, walk) if walk else Planes(contract, shared)
        self._packed = [pack(one, split) for one in self._planes.operands()]

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        rows, columns, _ = self.tiling
        return LYING if rows <= _LYING_ROWS and rows < columns else UPRIGHT

    def _chosen_stages(self) -> int:
        rows, columns, _ = self.tiling
        return 3 if rows * columns < _SIDE * _SIDE else 4  # two programs fit beside each other then

    def _chosen_tiling(self) -> Tiling:
        depth = self._planes.depth
        rows, columns = side_of(self._form.rows, _SIDE), side_of(self.columns, _SIDE)
        return Tiling(rows, columns, self._fitting(depth))

    def _fitting(self, depth: Extent) -> int:
        """As deep as pays, but not half empty in the last step of a few."""
        deep = min(_MOST_DEPTH, max(_LEAST_DEPTH, _DEPTH_BYTES // self.element_bytes))
        waste = -depth.value % deep
        return deep // 2 if waste >= deep // 2 and depth.value < 8 * deep else deep

    def _loop(self, scope: Scope, places: Places, split: int) -> list[str]:
        axes, depth = self.axes, self._planes.depth
        body = scope.child("step")
        # The last program that shares a depth may have steps left that lie beyond it.
        foreseen = self._planes.even and split == 1
        for tile in (axes.left, axes.right):
            add_tile(body, tile, "step * TILE_K", depth, self._plan, foreseen=foreseen)
            body.lines.append(f"{tile.name} = {tile.name}.to(INDEX)")
        self._add_loads(scope, body, places)
        body.lines += self._product_lines()
        steps = f"tl.cdiv({scope.size(depth).code}, TILE_K)"
        return looped(body.lines, steps, split)

    def _product_lines(self) -> list[str]:
        """Where planes are parts of a float, a step is summed up apart: tensor cores drop what is
        far smaller than the sum they add it to."""
        split, lines = self._split, []
        precision = f', input_precision="{split.precision}"' if split.precision else ""
        total = ", sum" if split.planes == 1 else ""
        for ours, theirs in split.products:
            factors = [f"left{ours}", f"right{theirs}"]
            if self.axes is LYING:
                factors.reverse()
            product_code = f"tl.dot({', '.join(factors)}{total}{precision})"
            lines.append(f"{'sum' if split.planes == 1 else 'parts'} = {product_code}")
            total = total or ", parts"
        return lines if split.planes == 1 else [*lines, "sum += parts"]

    def _add_loads(self, scope: Scope, body: Scope, places: Places) -> None:
        """A tile of every plane; what does not change from step to step is outside."""
        left, right = self._packed
        sides = {
            "left": self._planes.left(left.shape[1:], places.batch, "m", "ka"),
            "right": self._planes.right(right.shape[1:], places.batch, places.parts, "kb"),
        }
        for name, side in sides.items():
            scope.lines.append(f"{name}_at = {scope.write(side.base).code}")
            body.lines.append(f"{name}_deep = {scope.write(side.depth).code}")
        if self._planes.run > 1:
            run = [1, 1]
            run[self.axes.right.axis] = self._planes.run
            hint = f"tl.multiple_of(right_deep, {tuple(run)})"
            body.lines.append(f"right_deep = tl.max_contiguous({hint}, {tuple(run)})")
        for name, buffer, masks in (
            ("left", left, "m_in & ka_in"),
            ("right", right, "kb_in & n_in"),
        ):
            scope.frame.memory[buffer.name] = buffer
            step = size(product(buffer.shape[1:]))
            body.lines.append(f"{name}s = {buffer.name} + {name}_at + {name}_deep")
            for number in range(self._split.planes):
                at = scope.write(add(f"{name}s", mul(number, step))).code
                body.lines.append(f"{name}{number} = tl.load({at}, mask={masks}, other=0)")
