"""Products of matrices, and attention, which is made of them."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.targets.pallas.keeping import kept_order
from kernelmill.generators.composer.targets.pallas.lowering.reductions import softmax
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    broadcast_shape,
    cast,
    extent_of,
    keyword,
    lowers,
    number,
    permute,
    pointwise,
    reshape,
)
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Fold,
    Iota,
    Permute,
    Product,
    Reshape,
    Stored,
    Tensor,
    same_sizes,
    walk,
)


def product(left: Tensor, right: Tensor) -> Tensor:
    if left.dtype != "float32":
        raise Declined(f"a matrix product of {left.dtype}")
    if right.shape[-1].code == "1":
        row = reshape(right, [*right.shape[:-2], right.shape[-1], right.shape[-2]])
        return Fold(pointwise("{0} * {1}", left, row), [len(left.shape) - 1], "sum")
    lead = broadcast_shape([left.shape[:-2], right.shape[:-2]])
    left, right = _unrepeated(left), _unrepeated(right)
    return Product(left, _read_apart(right, walk([left])), lead)


def _unrepeated(tensor: Tensor) -> Tensor:
    """A product repeats what is in front of its matrices by itself."""
    if isinstance(tensor, Broadcast) and same_sizes(tensor.inputs[0].shape[-2:], tensor.shape[-2:]):
        return tensor.inputs[0]
    return tensor


def _read_apart(tensor: Tensor, others: Sequence[Tensor]) -> Tensor:
    """The same memory read a second time where the other side reads it too, otherwise cut."""
    if isinstance(tensor, Stored) and tensor in others:
        return Stored(tensor.name, tensor.shape, tensor.dtype)
    if isinstance(tensor, Permute):
        return Permute(_read_apart(tensor.inputs[0], others), tensor.order)
    return tensor


def _as_kept(lowering: Lowering, tensor: Tensor) -> Tensor:
    """Handed over transposed where the chip keeps it so: a kernel's own way would cost a copy."""
    if not isinstance(tensor, Stored) or len(tensor.shape) != 2:
        return tensor
    if kept_order(tensor.shape) == (0, 1) or lowering.plan.handed != "as kept":
        return tensor
    return Permute(Permute(tensor, (1, 0)), (1, 0))


@lowers("mm", "bmm")
def _product(lowering: Lowering, node: Node) -> Tensor:
    left, right = (_as_kept(lowering, lowering.value(one)) for one in node.arguments)
    return product(left, right)


@lowers("addmm", "baddbmm")
def _with_bias(lowering: Lowering, node: Node) -> Tensor:
    bias, *sides = (lowering.value(argument) for argument in node.arguments)
    left, right = (_as_kept(lowering, side) for side in sides)
    result: Tensor = product(left, right)
    for tensor, name in ((bias, "beta"), (result, "alpha")):
        factor = node.keywords.get(name, 1)
        if factor != 1:
            scaled = pointwise(f"{{0}} * {number(factor)}", tensor)
            bias, result = (scaled, result) if tensor is bias else (bias, scaled)
    return pointwise("{0} + {1}", result, bias)


def unflattened(tensor: Tensor, shape: Sequence[Extent]) -> Tensor | None:
    """A product whose batch is split by a view: of operands whose batch is split as well."""
    if not isinstance(tensor, Product) or len(tensor.shape) != 3:
        return None
    lead = list(shape[:-2])
    if len(shape) < 4 or not same_sizes(shape[-2:], tensor.shape[-2:]):
        return None
    left, right = (reshape(side, [*lead, *side.shape[-2:]]) for side in tensor.inputs)
    if all(isinstance(side, Reshape) for side in (left, right)):
        return None
    return product(left, right)


@lowers("scaled_dot_product_attention")
def _attention(lowering: Lowering, node: Node) -> Tensor:
    query, key, value = (lowering.value(argument) for argument in node.arguments[:3])
    mask = keyword(node, 3, "attn_mask")
    causal = keyword(node, 5, "is_causal", False)
    scale = keyword(node, 6, "scale") or node.keywords.get("scale")
    if keyword(node, 4, "dropout_p", 0.0) or len(query.shape) != 4:
        raise Declined("aten.scaled_dot_product_attention with dropout, or not of rank 4")
    heads, fewer = query.shape[1], key.shape[1]
    shape = node.results[0].shape
    if not same_sizes([heads], [fewer]):
        query, key, value = _grouped(query, key, value)
    factor = number(scale) if scale is not None else f"({host(query.shape[-1].code)}) ** -0.5"
    turned = permute(key, [*range(len(key.shape) - 2), len(key.shape) - 1, len(key.shape) - 2])
    scores: Tensor = product(pointwise(f"{{0}} * {factor}", query), turned)
    if causal:
        rows, columns = scores.shape[-2:]
        row, column = Iota([rows, columns], 0), Iota([rows, columns], 1)
        seen = pointwise("{0} >= {1}", row, column, dtype="bool")
        scores = pointwise("jnp.where({0}, {1}, -jnp.inf)", seen, scores, dtype="float32")
    if mask is not None:
        scores = _masked(scores, lowering.value(mask))
    return reshape(product(softmax(scores, [len(scores.shape) - 1]), value), shape)


def _grouped(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Several heads of the query share one of key and value."""
    heads, fewer = query.shape[1], key.shape[1]
    if not (heads.fixed and fewer.fixed):
        raise Declined("aten.scaled_dot_product_attention with any number of heads")
    group = extent_of(heads.value // fewer.value)
    batch, _, rows, width = query.shape
    one = extent_of(1)
    shared = [reshape(t, [t.shape[0], t.shape[1], one, *t.shape[2:]]) for t in (key, value)]
    return [reshape(query, [batch, fewer, group, rows, width]), *shared]


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if len(scores.shape) == 5 and len(mask.shape) > 2:
        raise Declined("aten.scaled_dot_product_attention with a mask for every head of a group")
    if mask.dtype == "bool":
        return pointwise("jnp.where({0}, {1}, -jnp.inf)", mask, scores, dtype="float32")
    return pointwise("{0} + {1}", scores, cast(mask, "float32"))
