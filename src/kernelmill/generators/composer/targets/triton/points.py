"""Kernels of values that are computed element by element."""

from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.index import Flat, Index, product, unravel
from kernelmill.generators.composer.ir.values import Buffer, Region, Shape, Value
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.folds import WindowFolding
from kernelmill.generators.composer.targets.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    program_id,
)
from kernelmill.generators.composer.targets.triton.scope import Scope, Tile

_TILE = Tile("f", 0, "BLOCK")
_WARP, _VECTOR, _MOST_WARPS = 32, 4, 8
"""One load of sixteen bytes a thread keeps the memory busiest."""
_LONG = 1024
"""A plane of this many elements is worth a block of its own: then what is the same all over it is
computed once."""


def emit_points(value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> Launch:
    """One element after the other. Raises Unfit for what must be stored before."""
    flat = _emit_flat(value, target, plan, stored)
    if flat is not None:
        return flat
    scope = new_scope(1, stored)
    scope.frame.folding = WindowFolding()
    lead = _lead(value.shape)
    plane = product(value.shape[lead:])
    scope.lines.append(f"pid = {program_id()}")
    if lead:
        size = scope.size(plane).code
        scope.lines += [
            f"row = pid // tl.cdiv({size}, BLOCK)",
            f"chunk = pid % tl.cdiv({size}, BLOCK)",
        ]
    inner = scope.child()
    add_tile(inner, _TILE, "chunk * BLOCK" if lead else "pid * BLOCK", plane, plan)
    parts = unravel("row", value.shape[:lead]) if lead else ()
    index = Index([*parts, *unravel("f", value.shape[lead:])])
    inner.store(target, index, inner.value(value, index))
    rows = host(product(value.shape[:lead]).code)
    grid = blocks(plane, str(plan.shrunk(plan.block)))
    return _launch(scope, inner, plan, f"{rows} * ({grid})" if lead else grid)


def _emit_flat(
    value: Value, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> Launch | None:
    """All elements in one row, where no operand needs to know rows from columns."""
    if isinstance(target, Region):
        return None
    scope = new_scope(1, stored)
    total = product(value.shape)
    scope.frame.folding = WindowFolding()
    scope.lines.append(f"pid = {program_id()}")
    inner = scope.child()
    add_tile(inner, _TILE, "pid * BLOCK", total, plan)
    index = Flat("f", value.shape)
    result = inner.value(value, index)
    if index.taken_apart:
        return None
    inner.store(target, index, result)
    return _launch(scope, inner, plan, blocks(total, str(plan.shrunk(plan.block))))


def _launch(scope: Scope, inner: Scope, plan: Plan, grid: str) -> Launch:
    lines = [*scope.lines, *inner.lines]
    fitting = min(_MOST_WARPS, int(plan.block) // (_WARP * _VECTOR))
    warps = str(plan.warps if plan.warps != "auto" else fitting)
    constants = {"BLOCK": str(plan.shrunk(plan.block))}
    return Launch(lines, scope.frame.memory, (grid,), constants, warps)


def _lead(shape: Shape) -> int:
    """How many leading axes choose a plane; none where planes are small."""
    for lead in range(len(shape) - 1, 0, -1):
        if product(shape[lead:]).value >= _LONG:
            return lead
    return 0
