"""Attention: blocks of queries against all keys, whose scores never leave the registers."""

from kernelmill.generators.composer.host.language import Term, host
from kernelmill.generators.composer.ir.expressions import Plain
from kernelmill.generators.composer.ir.index import Index, div, product
from kernelmill.generators.composer.ir.values import Attention, Buffer, Literal, Unfit, Value, View
from kernelmill.generators.composer.lowering.attention import heads_to_each
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
from kernelmill.generators.composer.targets.triton.scope import Scope, Tile

WIDEST = 128
"""Columns of a query or value that fit into registers beside the scores."""
_LEAST = 16
"""The smallest side of a tile of a product."""
_QUERIES, _KEYS = Tile("m", 0, "QUERIES"), Tile("n", 1, "KEYS")
_VALUE_ROWS = Tile("nv", 0, "KEYS")
_QUERY_COLUMNS, _KEY_COLUMNS = Tile("dq", 1, "WIDTH"), Tile("dk", 0, "WIDTH")
_VALUE_COLUMNS = Tile("dv", 1, "VALUE_WIDTH")


def emit_attention(
    value: Attention, target: Buffer, plan: Plan, precision: str, stored: dict[int, Buffer]
) -> Launch:
    """The kernel of one attention, with products of a precision by Triton's name.

    Raises Unfit for operands that are not in memory.
    """
    query, key, values = value.inputs[:3]
    for operand in value.inputs:
        _demand_memory(operand, stored)
    scope = new_scope(2, stored)
    lines = scope.lines
    lines += [f"b = {program_id()} // {scope.size(query.shape[1]).within(8)}",
              f"h = {program_id()} % {scope.size(query.shape[1]).within(8)}"]  # fmt: skip
    add_tile(scope, _QUERIES, "tl.program_id(1) * QUERIES", query.shape[2], plan)
    for tile, extent in ((_QUERY_COLUMNS, query.shape[3]), (_KEY_COLUMNS, key.shape[3]),
                         (_VALUE_COLUMNS, values.shape[3])):  # fmt: skip
        add_tile(scope, tile, "", extent, plan)
    share = heads_to_each(query, key)
    head: Plain = "h" if share is None else div("h", share)
    scaled = scope.write(scope.value(value.scale, Index([]))).code
    rows = scope.write(scope.value(query, Index(["b", "h", "m", "dq"]))).code
    lines += [
        "most = tl.full([QUERIES, 1], -float('inf'), tl.float32)",
        "total = tl.zeros([QUERIES, 1], tl.float32)",
        "sum = tl.zeros([QUERIES, VALUE_WIDTH], tl.float32)",
    ]
    body = _body(scope, value, head, rows, scaled, plan, precision)
    end = scope.size(key.shape[2]).code
    if value.causal:
        end = f"tl.minimum({end}, tl.program_id(1) * QUERIES + QUERIES)"
    lines += [f"for start in range(0, {end}, KEYS):", *(f"    {line}" for line in body.lines)]
    frame = scope.frame
    frame.types["sum"], frame.depends["sum"] = "float32", frozenset({"m", "dv"})
    last = scope.child(fence=True)
    last.lines.append("sum = sum / total")
    last.store(target, Index(["b", "h", "m", "dv"]), "sum")
    wide = padded(query.shape[3]) > 64 or padded(values.shape[3]) > 64
    constants = {
        "QUERIES": str(plan.shrunk(64 if wide else 128, _LEAST)),
        "KEYS": str(plan.shrunk(32 if wide else 64, _LEAST)),
        "WIDTH": f"max(16, {power_of_two(query.shape[3])})",
        "VALUE_WIDTH": f"max(16, {power_of_two(values.shape[3])})",
    }
    grid = (host(product(query.shape[:2]).code), blocks(query.shape[2], constants["QUERIES"]))
    warps = str(plan.warps) if plan.warps != "auto" else "4" if wide else "8"
    stages = str(plan.stages) if plan.stages != "auto" else "2"
    return Launch([*lines, *last.lines], frame.memory, grid, constants, warps, stages)


def _body(
    scope: Scope,
    value: Attention,
    head: Plain,
    rows: str,
    scaled: str,
    plan: Plan,
    precision: str,
) -> Scope:
    """One block of keys: scores, their largest so far, and what the values add."""
    _, key, values = value.inputs[:3]
    body = scope.child("start", fence=True)
    for tile in (_KEYS, _VALUE_ROWS):
        add_tile(body, tile, "start", key.shape[2], plan)
    columns = body.write(body.value(key, Index(["b", head, "n", "dk"]))).code
    how = f'input_precision="{precision}"'
    score = Term(f"tl.dot({rows}, {columns}, {how}) * {scaled}", "float32")
    body.lines.append(f"score = {score.code}")
    body.frame.types["score"], body.frame.depends["score"] = "float32", frozenset({"m", "n"})
    inside = _KEYS.mask
    if len(value.inputs) > 3:
        mask = value.inputs[3]
        seen = body.write(body.value(mask, Index(["b", "h", "m", "n"]))).code
        if mask.dtype == "bool":
            inside += f" & {seen}"
        else:
            body.lines.append(f"score = score + {seen}")
    if value.causal:
        inside += " & (n <= m)"
    part = body.write(body.value(values, Index(["b", head, "nv", "dv"]))).code
    body.lines += [
        f"score = tl.where({inside}, score, -float('inf'))",
        "higher = tl.maximum(most, tl.max(score, axis=1, keep_dims=True))",
        "level = tl.where(higher == -float('inf'), 0.0, higher)",
        "weight = tl.exp(score - level)",
        "fade = tl.exp(most - level)",
        "total = total * fade + tl.sum(weight, axis=1, keep_dims=True)",
        f"sum = tl.dot(weight, {part}, sum * fade, {how})",
        "most = higher",
    ]
    return body


def _demand_memory(value: Value, stored: dict[int, Buffer]) -> None:
    """What every program looks at again must not be computed again."""
    while id(value) not in stored and isinstance(value, View):
        value = value.inputs[0]
    if id(value) not in stored and not isinstance(value, Buffer | Literal):
        raise Unfit(value)
