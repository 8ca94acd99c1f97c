"""Products of matrices, and attention, which is made of them."""

from collections.abc import Sequence
from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Extent, Node
from kernelmill.generators.composer.lowering.registry import keyword
from kernelmill.generators.composer.targets.pypto.held import ONE, Held, Shape
from kernelmill.generators.composer.targets.pypto.lowering.indexing import places
from kernelmill.generators.composer.targets.pypto.lowering.reductions import softmax
from kernelmill.generators.composer.targets.pypto.lowering.registry import Lowering, lowers, number
from kernelmill.generators.composer.targets.pypto.lowering.views import expanded, permute, reshape
from kernelmill.generators.composer.targets.pypto.writer import DTYPES, Memory, count

_SIDE = 64
"""Of the cube tiles: those of the library's introduction."""


def product(lowering: Lowering, left: Held, right: Held, shape: Sequence[Extent]) -> Held:
    """left[..., m, k] times right[..., k, n]; the axes in front are those of the result."""
    dtype = left.dtype
    if dtype not in ("float32", "float16", "bfloat16"):
        raise Declined(f"a matrix product of {dtype}")
    lead = tuple(shape[:-2])
    result = lowering.writer.allocate(shape, dtype)
    sides = [_side(lowering, side, lead) for side in (left, right)]
    flags = [flag for flag, (_, swapped) in zip(("a", "b"), sides, strict=True) if swapped]
    options = "".join(f", {flag}_trans=True" for flag in flags)
    cube = ", ".join([f"[{_SIDE}, {_SIDE}]"] * 3)
    body = [
        f"pypto.set_cube_tile_shapes({cube})",
        f"y[:] = pypto.matmul(x0, x1, pypto.{DTYPES[dtype]}{options})",
    ]
    rows, columns = (host(size.code) for size in shape[-2:])
    sizes = (rows, columns) if not lead else (count(lead), rows, columns)
    output = Memory(result.name, sizes, dtype)
    lowering.writer.launch("matmul", body, [memory for memory, _ in sides], output)
    return result


def _side(lowering: Lowering, side: Held, lead: Shape) -> tuple[Memory, bool]:
    """An operand as the cube reads it, and whether it is transposed."""
    side = expanded(side, (*lead, *side.shape[-2:]))
    swapped = side.transposed
    held = side if swapped else lowering.writer.contiguous(side)
    matrix = tuple(host(size.code) for size in held.memory[-2:])
    sizes = matrix if not lead else (count(lead), *matrix)
    return Memory(held.name, sizes, held.dtype), swapped


@lowers("mm", "bmm")
def _product(lowering: Lowering, node: Node) -> Held:
    left, right = (lowering.value(one) for one in node.arguments[:2])
    return product(lowering, left, right, node.results[0].shape)


@lowers("mv", "dot")
def _vector(lowering: Lowering, node: Node) -> Held:
    left, right = (lowering.value(one) for one in node.arguments[:2])
    if node.op == "dot":
        left = reshape(lowering.writer.contiguous(left), [ONE, *left.shape])
    column = reshape(lowering.writer.contiguous(right), [*right.shape, ONE])
    found = product(lowering, left, column, [left.shape[0], ONE])
    return reshape(found, node.results[0].shape)


@lowers("addmm", "baddbmm")
def _with_bias(lowering: Lowering, node: Node) -> Held:
    bias, left, right = (lowering.value(argument) for argument in node.arguments[:3])
    shape = node.results[0].shape
    beta, alpha = (node.keywords.get(name, 1) for name in ("beta", "alpha"))
    found = product(lowering, left, right, shape)
    code = "{0}" if alpha == 1 else f"{{0}} * {number(alpha, 'float32')}"
    code += " + {1}" if beta == 1 else f" + {{1}} * {number(beta, 'float32')}"
    return lowering.same("add", code, found, bias)


@lowers("scaled_dot_product_attention")
def _attention(lowering: Lowering, node: Node) -> Held:
    query, key, value = (lowering.value(argument) for argument in node.arguments[:3])
    mask, causal = keyword(node, 3, "attn_mask"), keyword(node, 5, "is_causal", False)
    scale = keyword(node, 6, "scale") or node.keywords.get("scale")
    if keyword(node, 4, "dropout_p", 0.0) or len(query.shape) != 4:
        raise Declined("aten.scaled_dot_product_attention with dropout, or not of rank 4")
    key, value = (_shared_heads(lowering, query, side) for side in (key, value))
    lead = query.shape[:2]
    factor: Any = number(scale, "float32") if scale is not None else ""
    factor = factor or f"(({host(query.shape[-1].code)}) ** -0.5)"
    scaled = lowering.same("scale", "{0} * {1}", query, Held.of_number(factor, "float32"))
    rows, columns = query.shape[2], key.shape[2]
    turned = permute(key, [0, 1, 3, 2])
    scores = product(lowering, scaled, turned, [*lead, rows, columns])
    if causal:
        scores = _causal(lowering, scores)
    if mask is not None:
        scores = _masked(lowering, scores, lowering.value(mask))
    weights = softmax(lowering, scores, 3)
    return product(lowering, weights, value, node.results[0].shape)


def _shared_heads(lowering: Lowering, query: Held, side: Held) -> Held:
    """Several heads of the query share one of key and value."""
    heads, fewer = query.shape[1], side.shape[1]
    if heads.code == fewer.code:
        return side
    group = Extent(f"floordiv({heads.code}, {fewer.code})", heads.value // fewer.value)
    side = lowering.writer.contiguous(side)
    batch, _, length, width = side.shape
    apart = reshape(side, [batch, fewer, ONE, length, width])
    whole = lowering.writer.contiguous(expanded(apart, [batch, fewer, group, length, width]))
    return reshape(whole, [batch, heads, length, width])


def _causal(lowering: Lowering, scores: Held) -> Held:
    """Minus infinity above the diagonal."""
    below = on_or_below(lowering, scores.shape[-2:], 0)
    return _masked(lowering, scores, below)


def on_or_below(lowering: Lowering, shape: Shape, diagonal: int) -> Held:
    """Whether an element of a matrix is on a diagonal or below it."""
    rows, columns = shape
    row = reshape(places(lowering, rows, "float32"), [rows, ONE])
    column = reshape(places(lowering, columns, "float32"), [ONE, columns])
    code = f"{{0}} + {float(diagonal)} >= {{1}}" if diagonal else "{0} >= {1}"
    return lowering.pointwise("below", code, [row, column], tuple(shape), "bool")


@lowers("tril", "triu")
def _triangle(lowering: Lowering, node: Node) -> Held:
    held = lowering.value(node.arguments[0])
    diagonal = keyword(node, 1, "diagonal", 0)
    if not isinstance(diagonal, int) or held.dtype != "float32":
        raise Declined(f"aten.{node.op} of {held.dtype}, or by a size")
    upper = node.op.startswith("triu")
    below = on_or_below(lowering, held.shape[-2:], diagonal - 1 if upper else diagonal)
    below = expanded(below, (*[ONE] * (len(held.shape) - 2), *below.shape))
    code = "pypto.where({0}, 0.0, {1})" if upper else "pypto.where({0}, {1}, 0.0)"
    kind = node.results[0]
    return lowering.writer.pointwise(
        "triangle", code, [below, held], kind.shape, kind.dtype, conditions=1
    )


def _masked(lowering: Lowering, scores: Held, mask: Held) -> Held:
    mask = expanded(mask, (*[ONE] * (len(scores.shape) - len(mask.shape)), *mask.shape))
    if mask.dtype != "bool":
        return lowering.same("mask", "{0} + {1}", scores, mask)
    code = 'pypto.where({0}, {1}, float("-inf"))'
    return lowering.writer.pointwise(
        "mask", code, [mask, scores], scores.shape, scores.dtype, conditions=1
    )
