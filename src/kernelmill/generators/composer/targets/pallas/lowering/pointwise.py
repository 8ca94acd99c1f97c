"""Functions of elements."""

from typing import Any

from kernelmill.generators.composer.ir.graph import Node
from kernelmill.generators.composer.ir.operators import BY_ATEN, Operator
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    cast,
    keyword,
    lowers,
    number,
    pointwise,
)
from kernelmill.generators.composer.targets.pallas.tensors import Iota, Number, Tensor

_APART = ("logical_xor", "pow")
"""What means more than its operator: its operands may be numbers, or of other types."""
_FORMS = {
    name: one.value for name, one in BY_ATEN.items() if one.value.pallas and name not in _APART
}
_UNARY = {name: form.pallas for name, form in _FORMS.items() if form.arity == 1} | {
    "rsqrt": "lax.rsqrt({0})",
    "reciprocal": "1.0 / {0}",
    "sign": "sign({0})",
}
_BINARY = {
    name: form.pallas for name, form in _FORMS.items() if form.arity > 1 and not form.is_sign
} | {"pow.Tensor_Tensor": Operator.POW.value.pallas}
_LOGICAL = {name: form.pallas for name, form in _FORMS.items() if form.arity > 1 and form.is_sign}
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


def _pair(lowering: Lowering, node: Node) -> list[Tensor]:
    """Two operands of one type: that of the tensors among them."""
    kinds = [lowering.value(argument) for argument in node.arguments[:2]]
    tensors = [t for t in kinds if not isinstance(t, Number)] or kinds
    dtype = "float32" if any(t.dtype == "float32" for t in tensors) else tensors[0].dtype
    if any(type(argument) is float for argument in node.arguments[:2]):
        dtype = "float32"
    return [cast(tensor, dtype) for tensor in kinds]


@lowers(*_BINARY)
def _binary(lowering: Lowering, node: Node) -> Tensor:
    template = _BINARY.get(node.op) or _BINARY[node.op.partition(".")[0]]
    return pointwise(template, *_pair(lowering, node), dtype=node.results[0].dtype)


@lowers(*_LOGICAL)
def _compared(lowering: Lowering, node: Node) -> Tensor:
    template = _LOGICAL[node.op.partition(".")[0]]
    return pointwise(template, *_pair(lowering, node), dtype="bool")


@lowers("add", "sub")
def _sum(lowering: Lowering, node: Node) -> Tensor:
    left, right = _pair(lowering, node)
    alpha = keyword(node, 2, "alpha", 1)
    symbol = "+" if node.op.startswith("add") else "-"
    more = "{1}" if alpha == 1 else f"{number(alpha)} * {{1}}"
    return pointwise(f"{{0}} {symbol} {more}", left, right, dtype=node.results[0].dtype)


@lowers("mul")
def _product(lowering: Lowering, node: Node) -> Tensor:
    dtype = node.results[0].dtype
    left, right = (cast(tensor, dtype) for tensor in _pair(lowering, node))
    return pointwise("{0} & {1}" if dtype == "bool" else "{0} * {1}", left, right)


@lowers("div")
def _quotient(lowering: Lowering, node: Node) -> Tensor:
    left, right = _pair(lowering, node)
    dtype = node.results[0].dtype
    mode = node.keywords.get("rounding_mode")
    if mode is None:
        return pointwise("{0} / {1}", cast(left, dtype), cast(right, dtype))
    if mode == "floor":
        return pointwise("{0} // {1}", left, right, dtype=dtype)
    return pointwise("lax.div({0}, {1})", left, right, dtype=dtype)


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


@lowers("gelu")
def _gelu(lowering: Lowering, node: Node) -> Tensor:
    tanh = keyword(node, 1, "approximate", "none") == "tanh"
    return pointwise(f"{'gelu_tanh' if tanh else 'gelu'}({{0}})", lowering.value(node.arguments[0]))


@lowers("elu")
def _elu(lowering: Lowering, node: Node) -> Tensor:
    alpha, scale = keyword(node, 1, "alpha", 1.0), keyword(node, 2, "scale", 1.0)
    inner = keyword(node, 3, "input_scale", 1.0)
    scaled = "{0}" if inner == 1 else f"{{0}} * {number(inner)}"
    code = f"jnp.where({{0}} > 0, {{0}} * {number(scale)}, "
    code += f"expm1({scaled}) * {number(alpha * scale)})"
    return pointwise(code, lowering.value(node.arguments[0]))


@lowers("leaky_relu")
def _leaky_relu(lowering: Lowering, node: Node) -> Tensor:
    slope = number(keyword(node, 1, "negative_slope", 0.01))
    return pointwise(
        f"jnp.where({{0}} > 0, {{0}}, {{0}} * {slope})", lowering.value(node.arguments[0])
    )


@lowers("isnan")
def _isnan(lowering: Lowering, node: Node) -> Tensor:
    return pointwise("{0} != {0}", lowering.value(node.arguments[0]), dtype="bool")


@lowers("logical_not", "bitwise_not")
def _not(lowering: Lowering, node: Node) -> Tensor:
    tensor = cast(lowering.value(node.arguments[0]), "bool")
    return pointwise("jnp.logical_not({0})", tensor, dtype="bool")


@lowers("where")
def _where(lowering: Lowering, node: Node) -> Tensor:
    condition, chosen, other = (lowering.value(argument) for argument in node.arguments)
    dtype = node.results[0].dtype
    return pointwise(
        "jnp.where({0}, {1}, {2})", condition, cast(chosen, dtype), cast(other, dtype), dtype=dtype
    )


@lowers("_to_copy")
def _copied(lowering: Lowering, node: Node) -> Tensor:
    return cast(lowering.value(node.arguments[0]), node.results[0].dtype)


@lowers("clone", "alias", "lift_fresh_copy", "contiguous", "detach")
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
