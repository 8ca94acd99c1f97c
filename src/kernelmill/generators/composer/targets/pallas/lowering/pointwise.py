"""Functions of elements that a TPU computes in a way of its own; `shared` has all others."""

from typing import Any

from kernelmill.generators.composer.ir.graph import Node
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    cast,
    keyword,
    lowers,
    number,
    pointwise,
)
from kernelmill.generators.composer.targets.pallas.tensors import Iota, Number, Tensor

_UNARY = {"rsqrt": "lax.rsqrt({0})", "reciprocal": "1.0 / {0}", "sign": "sign({0})"}
_POWERS = {
    2: "{0} * {0}",
    3: "{0} * {0} * {0}",
    4: "lax.integer_pow({0}, 4)",
    0.5: "jnp.sqrt({0})",
    -0.5: "lax.rsqrt({0})",
    -1: "1.0 / {0}",
    1: "{0}",
}


@lowers(*_UNARY)
def _unary(lowering: Lowering, node: Node) -> Tensor:
    tensor = cast(lowering.value(node.arguments[0]), node.results[0].dtype)
    return pointwise(_UNARY[node.op], tensor)


@lowers("pow.Tensor_Scalar")
def _power(lowering: Lowering, node: Node) -> Tensor:
    tensor, exponent = lowering.value(node.arguments[0]), node.arguments[1]
    template = _POWERS.get(exponent) if isinstance(exponent, int | float) else None
    return pointwise(template or f"jnp.power({{0}}, {number(exponent)})", tensor)


@lowers("clamp", "hardtanh")
def _clamp(lowering: Lowering, node: Node) -> Tensor:
    tensor = lowering.value(node.arguments[0])
    default = (-1.0, 1.0) if node.op == "hardtanh" else (None, None)
    least = keyword(node, 1, "min", default[0])
    most = keyword(node, 2, "max", default[1])
    for bound, function in ((least, "maximum"), (most, "minimum")):
        if bound is not None:
            limit = cast(lowering.value(bound), tensor.dtype)
            tensor = pointwise(f"jnp.{function}({{0}}, {{1}})", tensor, limit)
    return tensor


@lowers("elu")
def _elu(lowering: Lowering, node: Node) -> Tensor:
    alpha, scale = keyword(node, 1, "alpha", 1.0), keyword(node, 2, "scale", 1.0)
    inner = keyword(node, 3, "input_scale", 1.0)
    scaled = "{0}" if inner == 1 else f"{{0}} * {number(inner)}"
    code = f"jnp.where({{0}} > 0, {{0}} * {number(scale)}, "
    code += f"expm1({scaled}) * {number(alpha * scale)})"
    return pointwise(code, lowering.value(node.arguments[0]))


@lowers("logical_not", "bitwise_not")
def _not(lowering: Lowering, node: Node) -> Tensor:
    tensor = cast(lowering.value(node.arguments[0]), "bool")
    return pointwise("jnp.logical_not({0})", tensor, dtype="bool")


@lowers("contiguous")
def _same(lowering: Lowering, node: Node) -> Tensor:
    return lowering.value(node.arguments[0])


@lowers("full", "scalar_tensor", "full_like", "empty_permuted", "zeros_like", "ones_like")
def _filled(lowering: Lowering, node: Node) -> Tensor:
    kind = node.results[0]
    given: Any = {"full": 1, "scalar_tensor": 0, "full_like": 1}.get(node.op)
    value = node.arguments[given] if given is not None else int(node.op == "ones_like")
    return Number(number(value), kind.dtype, kind.shape)


@lowers("arange")
def _places(lowering: Lowering, node: Node) -> Tensor:
    start, _end, step = (*node.arguments, 1)[:3]
    kind = node.results[0]
    places: Tensor = Iota(kind.shape, 0)
    if (start, step) != (0, 1):
        places = pointwise(f"{{0}} * {number(step)} + {number(start)}", places)
    return cast(places, kind.dtype)
