"""Attention as one operator: its matrix of scores never exists as a whole."""

import math
from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.expressions import (
    Argument,
    Cast,
    Constant,
    Expression,
    apply,
    select,
)
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.ir.index import Index, div, product
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.ir.values import (
    Attention,
    Coordinate,
    Literal,
    Map,
    Value,
    View,
)
from kernelmill.generators.composer.lowering.contractions import contracted
from kernelmill.generators.composer.lowering.reductions import softmax
from kernelmill.generators.composer.lowering.registry import Lowering, broadcast, keyword, lowers
from kernelmill.generators.composer.lowering.views import reshape

_ONE = Extent("1", 1)
_RANK = 4


@lowers("scaled_dot_product_attention")
def _attention(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    if kind.dtype != "float32" or len(kind.shape) > _RANK:
        raise Declined(f"the operator aten.{node.op} on {kind.dtype} of {len(kind.shape)} axes")
    query, key, value = (_ranked(lowering.value(argument)) for argument in node.arguments[:3])
    shape = [*query.shape[:-1], value.shape[-1]]
    mask = keyword(node, 3, "attn_mask")
    inputs = [query, key, value]
    if mask is not None:
        inputs.append(broadcast(lowering.value(mask), [*query.shape[:-1], key.shape[-2]]))
    scale = keyword(node, 6, "scale")
    number = (
        Literal(1 / apply(Operator.SQRT, Cast("float32", size(query.shape[-1]))), "float32")
        if scale is None
        else lowering.value(scale)
    )
    attention = Attention(inputs, shape, bool(keyword(node, 5, "is_causal", False)), number)
    return reshape(attention, kind.shape)


def in_products(value: Attention) -> Value:
    """The same with its matrix of scores in memory."""
    query, key, values = value.inputs[:3]
    scores = _product(query, _turned(_spread(key, query)), [*query.shape[:3], key.shape[2]])
    scale = broadcast(value.scale, scores.shape)
    x, other, unseen = Argument(0), Argument(1), Constant(-math.inf, "float32")
    scores = Map(x * other, [scores, scale], value.dtype, scores.shape)
    if len(value.inputs) > 3:
        mask = value.inputs[3]
        masked = select(other, x, unseen) if mask.dtype == "bool" else x + other
        scores = Map(masked, [scores, mask], value.dtype, scores.shape)
    if value.causal:
        row, column = (Coordinate(scores.shape, axis) for axis in (2, 3))
        seen = select(other >= Argument(2), x, unseen)
        scores = Map(seen, [scores, row, column], value.dtype, scores.shape)
    return _product(softmax(scores, [3]), _spread(values, query), value.shape)


def _product(left: Value, right: Value, shape: Sequence[Extent]) -> Value:
    """Of matrices behind two axes of both."""
    items = product(left.shape[:2])
    flat = [reshape(side, [items, *side.shape[2:]]) for side in (left, right)]
    return reshape(contracted(flat[0], flat[1], (items, *shape[2:])), shape)


def _turned(value: Value) -> Value:
    *lead, rows, columns = value.shape
    return View(value, [*lead, columns, rows], lambda i: Index([i[0], i[1], i[3], i[2]]))


def _spread(value: Value, query: Value) -> Value:
    """With as many heads as the queries have."""
    share = heads_to_each(query, value)
    if share is None:
        return value
    shape = [*query.shape[:2], *value.shape[2:]]
    return View(value, shape, lambda i: Index([i[0], div(i[1], share), i[2], i[3]]))


def heads_to_each(query: Value, key: Value) -> Expression | None:
    """How many heads of the queries share one of the keys; None where each has its own."""
    heads, own = query.shape[1], key.shape[1]
    return None if heads.code == own.code else div(size(heads), size(own))


def _ranked(value: Value) -> Value:
    return reshape(value, [*[_ONE] * (_RANK - len(value.shape)), *value.shape])
