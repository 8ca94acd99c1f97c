"""Kernels of values that are not made element by element: scatters, bags and rankings."""

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import Term, host
from kernelmill.generators.composer.ir.index import Index, product, unravel
from kernelmill.generators.composer.ir.values import Apart, Bags, Buffer, Ranking, Scatter
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.launch import (
    Launch,
    add_tile,
    blocks,
    new_scope,
    padded,
    power_of_two,
    program_id,
)
from kernelmill.generators.composer.targets.triton.rows import emit_nest
from kernelmill.generators.composer.targets.triton.scope import Tile

_PLACES = Tile("f", 0, "BLOCK")
_MEMBERS, _COLUMNS = Tile("k", 0, "MEMBERS"), Tile("c", 1, "COLUMNS")
_ROWS, _ALONG = Tile("x", 0, "ROWS"), Tile("r", 1, "WIDTH")
_MOST_RANKED = 1 << 13
_ATOMIC = {"set": "store", "sum": "atomic_add", "max": "atomic_max", "min": "atomic_min"}


def emit_apart(value: Apart, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> list[Launch]:
    """The kernels of one of them. Raises Unfit for what must be stored before."""
    if isinstance(value, Scatter):
        return _emit_scatter(value, target, plan, stored)
    if isinstance(value, Bags):
        return [_emit_bags(value, target, plan, stored)]
    assert isinstance(value, Ranking)
    return [_emit_ranking(value, target, plan, stored)]


def _emit_scatter(
    value: Scatter, target: Buffer, plan: Plan, stored: dict[int, Buffer]
) -> list[Launch]:
    """The base first, then every update where it belongs: several may meet there."""
    base, update, *places = value.inputs
    if value.op not in _ATOMIC:
        raise Declined(f"a scatter that folds by {value.op}")
    first = emit_nest(base, target, plan, stored)
    scope = new_scope(1, stored)
    count = product(update.shape)
    add_tile(scope, _PLACES, f"{program_id()} * BLOCK", count, plan)
    index = Index(unravel("f", update.shape))
    at = [scope.value(place, value.place_index(index)) for place in places]
    cell = value.target(index, at)
    scope.store(target, cell, scope.value(update, index), how=_ATOMIC[value.op])
    block = str(plan.shrunk(plan.block))
    grid = (blocks(count, block),)
    constants = {"BLOCK": block}
    return [first, Launch(scope.lines, scope.frame.memory, grid, constants, "4")]


def _emit_bags(value: Bags, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> Launch:
    entries, starts, ends = value.inputs
    scope = new_scope(2, stored)
    scope.lines.append(f"bag = {program_id()}")
    add_tile(scope, _COLUMNS, "tl.program_id(1) * COLUMNS", entries.shape[1], plan)
    first, last = (
        scope.write(scope.value(bounds, Index(["bag"]))).code for bounds in (starts, ends)
    )
    body = scope.child("start")
    add_tile(body, _MEMBERS, "start", entries.shape[0], plan)
    body.lines.append(f"{_MEMBERS.mask} = {_MEMBERS.name} < {last}")
    element = body.write(body.value(entries, Index(["k", "c"]))).code
    zero = f"tl.zeros([MEMBERS, COLUMNS], tl.{value.dtype})"
    scope.lines.append(f"total = {zero}")
    body.lines.append(f"total += tl.where({_MEMBERS.mask}, {element}, 0.0)")
    scope.lines.append(f"for start in range({first}, {last}, MEMBERS):")
    scope.lines += [f"    {line}" for line in body.lines]
    scope.frame.types["total"] = value.dtype
    scope.frame.depends["total"] = frozenset({"k", "c"})
    last_scope = scope.child(fence=True)
    whole = Term("tl.sum(total, axis=0, keep_dims=True)", value.dtype)
    result = last_scope.assign(whole)
    scope.frame.depends[result] = frozenset({"c"})
    last_scope.store(target, Index(["bag", "c"]), result)
    columns = min(plan.shrunk(256), padded(entries.shape[1]))
    constants = {"COLUMNS": str(columns), "MEMBERS": "8"}
    grid = (host(value.shape[0].code), blocks(entries.shape[1], str(columns)))
    return Launch([*scope.lines, *last_scope.lines], scope.frame.memory, grid, constants, "4")


def _emit_ranking(value: Ranking, target: Buffer, plan: Plan, stored: dict[int, Buffer]) -> Launch:
    """A row as integers that are ordered as its elements are, each with its place behind it."""
    source = value.inputs[0]
    length = source.shape[value.axis]
    if source.dtype != "float32" or length.value > _MOST_RANKED:
        raise Declined(f"a ranking of {length.value} elements of type {source.dtype}")
    outer = [extent for axis, extent in enumerate(source.shape) if axis != value.axis]
    rows = product(outer)
    scope = new_scope(2, stored)
    add_tile(scope, _ROWS, f"{program_id()} * ROWS", rows, plan)
    add_tile(scope, _ALONG, "", length, plan)
    names = unravel("x", outer)
    index = Index([*names[: value.axis], "r", *names[value.axis :]])
    element = scope.write(scope.value(source, index)).code
    order = "descending=True" if value.descending else "descending=False"
    mark = f"ranked({element}, r, {_ALONG.mask}, {value.descending})"
    scope.lines.append(f"order = tl.sort({mark}, {order})")
    scope.lines.append(f"place = place_of(order, {value.descending})")
    scope.frame.types["place"], scope.frame.depends["place"] = "int64", frozenset({"x", "r"})
    last = scope.child(fence=True)
    last.lines.append(f"{_ALONG.mask} = r < {scope.size(value.count).code}")
    last.store(target, index, "place")
    count = max(1, min(1024 // padded(length), padded(rows)))
    constants = {"ROWS": str(count), "WIDTH": power_of_two(length)}
    warps = "8" if padded(length) >= 2048 else "4"
    lines = [*scope.lines, *last.lines]
    return Launch(lines, scope.frame.memory, (blocks(rows, str(count)),), constants, warps)
