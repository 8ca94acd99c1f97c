"""Attention as one operator: its matrix of scores never exists as a whole."""

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.graph import Extent, Node
from kernelmill.generators.composer.lowering.registry import Lowering, broadcast, keyword, lowers
from kernelmill.generators.composer.lowering.views import reshape
from kernelmill.generators.composer.values import Attention, Literal, Value

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
        Literal(f"1 / km::sqrt(float({query.shape[-1].code}))", "float32")
        if scale is None
        else lowering.value(scale)
    )
    attention = Attention(inputs, shape, bool(keyword(node, 5, "is_causal", False)), number)
    return reshape(attention, kind.shape)


def _ranked(value: Value) -> Value:
    return reshape(value, [*[_ONE] * (_RANK - len(value.shape)), *value.shape])
