"""Attention: rows of queries, keys and values where they lie, masks as a function of a score."""

import math

from kernelmill.generators.composer.ir.expressions import (
    Constant,
    Expression,
    Plain,
    Variable,
    select,
)
from kernelmill.generators.composer.ir.index import Index, add, div
from kernelmill.generators.composer.ir.values import Attention, Buffer, Literal, Unfit, Value, View
from kernelmill.generators.composer.loops.cpp import cpp
from kernelmill.generators.composer.loops.scope import Scope
from kernelmill.generators.composer.loops.statements import Block, Return, Statement, Statements
from kernelmill.generators.composer.lowering.attention import heads_to_each


def emit_attention(
    value: Attention, target: Buffer, stored: dict[int, Buffer], blocks: str
) -> list[Statement]:
    """The C++ of one attention. Raises Unfit for operands that have no rows in memory."""
    query, key, values = value.inputs[:3]
    batch, heads, queries, width = (extent.code for extent in query.shape)
    keys = key.shape[2].code
    share = heads_to_each(query, key)
    head: Plain = "h" if share is None else div("h", share)
    lines: list[Statement] = [
        _row("query", query, "h", stored),
        _row("key", key, head, stored),
        _row("value", values, head, stored),
        *_score(value, stored),
        "const auto store = [=](long b, long h, long i, long c, long count, const float* sums) {",
        f"  float* to = {target.name} + {cpp(Index(['b', 'h', 'i', 'c']).ravel(value.shape))};",
        "  std::copy(sums, sums + count, to);",
        "};",
    ]
    shape = f"{{{batch}, {heads}, {queries}, {keys}, {width}, {values.shape[3].code}}}"
    reach = f"km::{'CausalReach' if value.causal else 'FullReach'}{{{keys}}}"
    scope = Scope(stored=stored)
    scale = cpp(scope.value(value.scale, Index([])))
    call = f"km::attention<{blocks}>({shape}, query, key, value, {scale}, score, {reach}, store);"
    return [Block("{", [*lines, *scope.lines, call])]


def _row(name: str, value: Value, head: Plain, stored: dict[int, Buffer]) -> str:
    """A function that gives the address of a row; its elements must be neighbours."""
    first, second = (Index(["b", head, "i", place]) for place in (0, 1))
    wanted = value
    value = stored.get(id(value), value)
    while isinstance(value, View):
        first, second = value.remap(first), value.remap(second)
        value = stored.get(id(value.inputs[0]), value.inputs[0])
    if not isinstance(value, Buffer):
        raise Unfit(value)
    start, next_one = first.ravel(value.shape), second.ravel(value.shape)
    if next_one != add(start, 1):
        raise Unfit(wanted)
    address = f"{value.name} + {cpp(start)}"
    return f"const auto {name} = [=](long b, long h, long i) {{ return {address}; }};"


def _score(value: Attention, stored: dict[int, Buffer]) -> Statements:
    mask = value.inputs[3] if len(value.inputs) > 3 else None
    if mask is None and not value.causal:
        return ["const km::NoScore score;"]
    scope = Scope(stored=stored)
    result: Expression = Variable("score")
    unseen = Constant(-math.inf, "float32")
    if mask is not None:
        _demand_memory(mask, stored)
        seen = scope.value(mask, Index(["b", "h", "i", "j"]))
        result = select(seen, result, unseen) if mask.dtype == "bool" else result + seen
    if value.causal:
        result = select(Variable("j") <= "i", result, unseen)
    head = "const auto score = [=](long b, long h, int i, int j, float score) -> float {"
    return [Block(head, [*scope.lines, Return(result)], "};", in_line=True)]


def _demand_memory(value: Value, stored: dict[int, Buffer]) -> None:
    while id(value) not in stored and isinstance(value, View):
        value = value.inputs[0]
    if id(value) not in stored and not isinstance(value, Buffer | Literal):
        raise Unfit(value)
