"""Operators on single elements."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from kernelmill.generators.composer.ir.expressions import (
    Argument,
    Constant,
    Expression,
    apply,
    select,
)
from kernelmill.generators.composer.ir.graph import Node
from kernelmill.generators.composer.ir.operators import BY_ATEN, Operator
from kernelmill.generators.composer.ir.values import Literal, Map, Value
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    cast,
    keyword,
    literal,
)
from kernelmill.generators.composer.lowering.walk import registering

RULES: dict[str, Callable[..., Value | Sequence[Value | None]]] = {}
"""Those of this module alone, for targets that lower all else in their own way."""
lowers = registering(Lowering.rules, RULES)

X, Y, Z = Argument(0), Argument(1), Argument(2)
_COMPOSED = {
    "frac": X - apply(Operator.TRUNC, X),
    "isinf": apply(Operator.EQ, apply(Operator.ABS, X), Constant(math.inf, "float32")),
    "isnan": apply(Operator.NE, X, X),
    "log10": apply(Operator.LOG, X) * Constant(0.43429448190325182, "float32"),
    "reciprocal": 1 / X,
    "rsqrt": 1 / apply(Operator.SQRT, X),
    "sign": (X > 0) - (X < 0),
    "silu": X * apply(Operator.SIGMOID, X),
    "square": X * X,
}
"""Functions of one element that are made of several operators."""
_TESTS = ("isnan", "isinf")
_SMALL_POWERS = {
    1: X, 2: X * X, 3: X * X * X, -1: 1 / X,
    0.5: apply(Operator.SQRT, X), -0.5: 1 / apply(Operator.SQRT, X),
}  # fmt: skip


def _map(lowering: Lowering, node: Node, function: Expression, *arguments: Any) -> Value:
    kind = node.results[0]
    values = [cast(value, kind.dtype) for value in lowering.operands(node, arguments, kind.dtype)]
    return Map(function, values, kind.dtype, kind.shape)


@lowers(*BY_ATEN)
def _elementwise(lowering: Lowering, node: Node) -> Value:
    """What is one operator of ours."""
    operator = BY_ATEN[node.op.partition(".")[0]]
    function = apply(operator, *(Argument(at) for at in range(operator.value.arity)))
    return _map(lowering, node, function, *node.arguments[: operator.value.arity])


@lowers(*_COMPOSED)
def _composed(lowering: Lowering, node: Node) -> Value:
    name = node.op.partition(".")[0]
    if name in _TESTS:
        dtype = node.results[0].dtype
        (operand,) = lowering.operands(node, node.arguments[:1], dtype)
        return Map(_COMPOSED[name], [operand], "bool", operand.shape)
    return _map(lowering, node, _COMPOSED[name], node.arguments[0])


@lowers("logical_not", "bitwise_not")
def _inverted(lowering: Lowering, node: Node) -> Value:
    (operand,) = lowering.operands(node, node.arguments[:1], node.results[0].dtype)
    if node.results[0].dtype == "bool":  # both mean the same
        return Map(apply(Operator.NOT, X), [cast(operand, "bool")], "bool", operand.shape)
    return _elementwise(lowering, node)


@lowers("pow.Tensor_Scalar")
def _power(lowering: Lowering, node: Node) -> Value:
    base, exponent = node.arguments[:2]
    if exponent in _SMALL_POWERS:
        return _map(lowering, node, _SMALL_POWERS[exponent], base)
    return _elementwise(lowering, node)


@lowers("remainder", "fmod")
def _remainder(lowering: Lowering, node: Node) -> Value:
    if "int" not in node.results[0].dtype:
        return _elementwise(lowering, node)
    floored = node.op.startswith("remainder")
    function = apply(Operator.FLOOR_MOD if floored else Operator.MOD, X, Y)
    return _map(lowering, node, function, *node.arguments[:2])


@lowers("add", "sub", "rsub")
def _sum(lowering: Lowering, node: Node) -> Value:
    alpha = keyword(node, 2, "alpha", 1)
    first, second = node.arguments[:2]
    if node.op.startswith("rsub"):
        first, second = second, first
    operator = Operator.ADD if node.op.startswith("add") else Operator.SUB
    scaled = Y if alpha == 1 else literal(alpha, node.results[0].dtype) * Y
    return _map(lowering, node, apply(operator, X, scaled), first, second)


@lowers("div")
def _quotient(lowering: Lowering, node: Node) -> Value:
    mode = keyword(node, 2, "rounding_mode")
    function = X / Y
    if mode is not None and "int" not in node.results[0].dtype:
        function = apply(_ROUNDINGS[mode], function)
    elif mode == "floor":
        function = apply(Operator.FLOOR_DIV, X, Y)
    return _map(lowering, node, function, *node.arguments[:2])


_ROUNDINGS = {"floor": Operator.FLOOR, "trunc": Operator.TRUNC}


@lowers("eq", "ne", "lt", "le", "gt", "ge")
def _comparison(lowering: Lowering, node: Node) -> Value:
    left, right = node.arguments[:2]
    first = lowering.value(left)
    dtype = first.dtype
    if not isinstance(right, int | float | bool) or isinstance(first, Literal):
        second = lowering.value(right, dtype)
        if "float" in second.dtype:
            dtype = second.dtype
    elif isinstance(right, float) and "float" not in dtype:
        dtype = "float32"
    function = apply(BY_ATEN[node.op.partition(".")[0]], X, Y)
    values = [cast(value, dtype) for value in lowering.operands(node, (left, right), dtype)]
    return Map(function, values, "bool", node.results[0].shape)


@lowers("where")
def _choice(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    condition, *branches = node.arguments
    (chosen,) = lowering.operands(node, (condition,), "bool")
    values = [cast(v, kind.dtype) for v in lowering.operands(node, branches, kind.dtype)]
    return Map(select(X, Y, Z), [cast(chosen, "bool"), *values], kind.dtype, kind.shape)


@lowers("masked_fill")
def _masked_fill(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    source, mask, filler = node.arguments
    values = lowering.operands(node, (source, mask, filler), kind.dtype)
    return Map(select(Y, Z, X), values, kind.dtype, kind.shape)


@lowers("clamp", "hardtanh", "clamp_min", "clamp_max")
def _clamp(lowering: Lowering, node: Node) -> Value:
    low = keyword(node, 1, "min", -1.0 if node.op.startswith("hardtanh") else None)
    high = keyword(node, 2, "max", 1.0 if node.op.startswith("hardtanh") else None)
    if node.op.startswith("clamp_max"):
        low, high = None, node.arguments[1]
    function: Expression = X
    arguments = [node.arguments[0]]
    for bound, operator in ((low, Operator.CLAMP_BELOW), (high, Operator.CLAMP_ABOVE)):
        if bound is not None:
            function = apply(operator, function, Argument(len(arguments)))
            arguments.append(bound)
    return _map(lowering, node, function, *arguments)


@lowers("gelu")
def _gelu(lowering: Lowering, node: Node) -> Value:
    tanh = keyword(node, 1, "approximate", "none") == "tanh"
    operator = Operator.GELU_TANH if tanh else Operator.GELU_ERF
    return _map(lowering, node, apply(operator, X), node.arguments[0])


@lowers("angle")
def _angle(lowering: Lowering, node: Node) -> Value:
    dtype = node.results[0].dtype
    half_turn, none = literal(math.pi, dtype), literal(0, dtype)
    function = select(X < 0, half_turn, select(apply(Operator.NE, X, X), X, none))
    return _map(lowering, node, function, node.arguments[0])


@lowers("leaky_relu")
def _leaky_relu(lowering: Lowering, node: Node) -> Value:
    slope = literal(keyword(node, 1, "negative_slope", 0.01), node.results[0].dtype)
    return _map(lowering, node, select(X > 0, X, X * slope), node.arguments[0])


@lowers("elu")
def _elu(lowering: Lowering, node: Node) -> Value:
    alpha, scale, inner = (
        keyword(node, i, n, 1) for i, n in ((1, "alpha"), (2, "scale"), (3, "input_scale"))
    )
    dtype = node.results[0].dtype
    up, down = literal(scale, dtype), literal(alpha * scale, dtype)
    stretched = X if inner == 1 else X * literal(inner, dtype)
    function = select(X > 0, X * up, down * apply(Operator.EXPM1, stretched))
    return _map(lowering, node, function, node.arguments[0])


@lowers("softplus")
def _softplus(lowering: Lowering, node: Node) -> Value:
    dtype = node.results[0].dtype
    beta = literal(keyword(node, 1, "beta", 1.0), dtype)
    threshold = literal(keyword(node, 2, "threshold", 20.0), dtype)
    function = apply(Operator.SOFTPLUS, X, beta, threshold)
    return _map(lowering, node, function, node.arguments[0])


@lowers("mish_backward")
def _mish_backward(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    gradient, x = lowering.operands(node, node.arguments[:2], kind.dtype)
    one, most = literal(1.0, kind.dtype), literal(20.0, kind.dtype)
    softplus = apply(Operator.SOFTPLUS, X, one, most)
    gate = Map(apply(Operator.TANH, softplus), [x], kind.dtype, kind.shape)
    slope = Y + Z * apply(Operator.SIGMOID, Z) * (1 - Y * Y)
    return Map(X * slope, [gradient, gate, x], kind.dtype, kind.shape)


@lowers("clone", "alias", "detach", "lift_fresh_copy")
def _same(lowering: Lowering, node: Node) -> Value:
    return lowering.value(node.arguments[0])


@lowers("_to_copy", "to")
def _convert(lowering: Lowering, node: Node) -> Value:
    return cast(lowering.value(node.arguments[0]), node.results[0].dtype)


@lowers("full", "full_like", "scalar_tensor", "zeros", "zeros_like", "ones", "ones_like",
        "new_zeros", "new_full", "new_ones", "empty", "empty_like", "new_empty", "empty_permuted",
        "empty.memory_format")  # fmt: skip
def _constant(lowering: Lowering, node: Node) -> Value:
    name = node.op.partition(".")[0]
    number: Any = {"ones": 1, "new_ones": 1, "ones_like": 1}.get(name, 0)
    if name == "scalar_tensor":
        number = node.arguments[0]
    elif name in ("full", "full_like"):
        number = node.arguments[1]
    elif name == "new_full":
        number = node.arguments[2]
    kind = node.results[0]
    return Literal(literal(number, kind.dtype), kind.dtype, kind.shape)


@lowers("_assert_async", "_assert_tensor_metadata", "_assert_scalar")
def _nothing(lowering: Lowering, node: Node) -> list[Value | None]:
    return [None]
