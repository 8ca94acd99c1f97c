"""Operators on single elements."""

from typing import Any

from kernelmill.generators.composer.graph import Node
from kernelmill.generators.composer.lowering.registry import (
    Lowering,
    cast,
    keyword,
    literal,
    lowers,
)
from kernelmill.generators.composer.values import Literal, Map, Value

# Functions of one element, as C++.
_UNARY = {
    "abs": "km::abs({0})", "acos": "km::acos({0})", "asin": "km::asin({0})",
    "atan": "km::atan({0})", "ceil": "km::ceil({0})", "cos": "km::cos({0})",
    "cosh": "km::cosh({0})", "erf": "km::erf({0})", "exp": "km::exp({0})",
    "exp2": "km::exp2({0})", "expm1": "km::expm1({0})", "floor": "km::floor({0})",
    "log": "km::log({0})", "log10": "km::log({0}) * 0.43429448190325182f",
    "log1p": "km::log1p({0})", "log2": "km::log2({0})", "neg": "-{0}",
    "reciprocal": "1 / {0}", "relu": "km::relu({0})", "round": "km::round({0})",
    "rsqrt": "1 / km::sqrt({0})", "sigmoid": "km::sigmoid({0})", "sin": "km::sin({0})",
    "sinh": "km::sinh({0})", "sqrt": "km::sqrt({0})", "tan": "km::tan({0})",
    "tanh": "km::tanh({0})", "trunc": "km::trunc({0})", "silu": "({0} * km::sigmoid({0}))",
    "mish": "km::mish({0})", "hardswish": "km::hardswish({0})",
    "hardsigmoid": "km::hardsigmoid({0})", "isnan": "({0} != {0})",
    "isinf": "(km::abs({0}) == km::inf)", "logical_not": "!{0}", "bitwise_not": "~{0}",
    "erfc": "std::erfc({0})", "asinh": "std::asinh({0})", "acosh": "std::acosh({0})",
    "atanh": "std::atanh({0})", "lgamma": "std::lgamma({0})", "frac": "{0} - km::trunc({0})",
    "sign": "({0} > 0) - ({0} < 0)", "square": "{0} * {0}", "log_sigmoid": "km::logsigmoid({0})",
}  # fmt: skip
_BINARY = {
    "mul": "{0} * {1}", "maximum": "km::maximum({0}, {1})", "minimum": "km::minimum({0}, {1})",
    "pow": "km::pow({0}, {1})", "fmod": "km::fmod({0}, {1})",
    "remainder": "km::remainder({0}, {1})", "atan2": "std::atan2({0}, {1})",
    "logical_and": "({0} && {1})", "logical_or": "({0} || {1})", "bitwise_and": "({0} & {1})",
    "bitwise_or": "({0} | {1})", "logical_xor": "({0} != {1})", "bitwise_xor": "({0} ^ {1})",
    "copysign": "km::copysign({0}, {1})", "hypot": "std::hypot({0}, {1})",
    "fmax": "std::fmax({0}, {1})", "fmin": "std::fmin({0}, {1})",
    "bitwise_left_shift": "({0} << {1})", "bitwise_right_shift": "({0} >> {1})",
    "__lshift__": "({0} << {1})", "__rshift__": "({0} >> {1})",
}  # fmt: skip
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SMALL_POWERS = {1: "{0}", 2: "{0} * {0}", 3: "{0} * {0} * {0}", -1: "1 / {0}"}


def _map(lowering: Lowering, node: Node, template: str, *arguments: Any) -> Value:
    kind = node.results[0]
    values = [cast(value, kind.dtype) for value in lowering.operands(node, arguments, kind.dtype)]
    return Map(template, values, kind.dtype, kind.shape)


@lowers(*_UNARY)
def _unary(lowering: Lowering, node: Node) -> Value:
    name = node.op.partition(".")[0]
    (operand,) = lowering.operands(node, node.arguments[:1], node.results[0].dtype)
    template = _UNARY[name]
    if name in ("isnan", "isinf"):
        return Map(template, [operand], "bool", operand.shape)
    if node.results[0].dtype == "bool":  # logical_not; bitwise_not means the same
        return Map("!{0}", [cast(operand, "bool")], "bool", operand.shape)
    return _map(lowering, node, template, node.arguments[0])


@lowers(*_BINARY)
def _binary(lowering: Lowering, node: Node) -> Value:
    name = node.op.partition(".")[0]
    if name == "pow" and node.op.endswith("Tensor_Scalar"):
        exponent = node.arguments[1]
        if exponent in _SMALL_POWERS:
            return _map(lowering, node, _SMALL_POWERS[exponent], node.arguments[0])
        if exponent == 0.5:
            return _map(lowering, node, "km::sqrt({0})", node.arguments[0])
        if exponent == -0.5:
            return _map(lowering, node, "1 / km::sqrt({0})", node.arguments[0])
    if name in ("remainder", "fmod") and "int" in node.results[0].dtype:
        template = "km::modulo({0}, {1})" if name == "remainder" else "{0} % {1}"
        return _map(lowering, node, template, *node.arguments[:2])
    return _map(lowering, node, _BINARY[name], *node.arguments[:2])


@lowers("add", "sub", "rsub")
def _sum(lowering: Lowering, node: Node) -> Value:
    alpha = keyword(node, 2, "alpha", 1)
    first, second = node.arguments[:2]
    if node.op.startswith("rsub"):
        first, second = second, first
    sign = "+" if node.op.startswith("add") else "-"
    if alpha == 1:
        return _map(lowering, node, f"{{0}} {sign} {{1}}", first, second)
    factor = literal(alpha, node.results[0].dtype)
    return _map(lowering, node, f"{{0}} {sign} {factor} * {{1}}", first, second)


@lowers("div")
def _quotient(lowering: Lowering, node: Node) -> Value:
    mode = keyword(node, 2, "rounding_mode")
    dtype = node.results[0].dtype
    if mode is None:
        return _map(lowering, node, "{0} / {1}", *node.arguments[:2])
    if "int" in dtype:
        template = "km::floordiv({0}, {1})" if mode == "floor" else "{0} / {1}"
    else:
        template = f"km::{mode}({{0}} / {{1}})"
    return _map(lowering, node, template, *node.arguments[:2])


@lowers(*_COMPARE)
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
    operator = _COMPARE[node.op.partition(".")[0]]
    values = [cast(value, dtype) for value in lowering.operands(node, (left, right), dtype)]
    return Map(f"({{0}} {operator} {{1}})", values, "bool", node.results[0].shape)


@lowers("where")
def _choice(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    condition, *branches = node.arguments
    (chosen,) = lowering.operands(node, (condition,), "bool")
    values = [cast(v, kind.dtype) for v in lowering.operands(node, branches, kind.dtype)]
    return Map("({0} ? {1} : {2})", [cast(chosen, "bool"), *values], kind.dtype, kind.shape)


@lowers("masked_fill")
def _masked_fill(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    source, mask, filler = node.arguments
    values = lowering.operands(node, (source, mask, filler), kind.dtype)
    return Map("({1} ? {2} : {0})", values, kind.dtype, kind.shape)


@lowers("clamp", "hardtanh", "clamp_min", "clamp_max")
def _clamp(lowering: Lowering, node: Node) -> Value:
    low = keyword(node, 1, "min", -1.0 if node.op.startswith("hardtanh") else None)
    high = keyword(node, 2, "max", 1.0 if node.op.startswith("hardtanh") else None)
    if node.op.startswith("clamp_max"):
        low, high = None, node.arguments[1]
    template, arguments = "{0}", [node.arguments[0]]
    for bound, sign in ((low, "<"), (high, ">")):
        if bound is not None:
            place = f"{{{len(arguments)}}}"
            template = f"km::clamped_{'below' if sign == '<' else 'above'}({template}, {place})"
            arguments.append(bound)
    return _map(lowering, node, template, *arguments)


@lowers("gelu")
def _gelu(lowering: Lowering, node: Node) -> Value:
    tanh = keyword(node, 1, "approximate", "none") == "tanh"
    name = "gelu_tanh" if tanh else "gelu_erf"
    return _map(lowering, node, f"km::{name}({{0}})", node.arguments[0])


@lowers("leaky_relu")
def _leaky_relu(lowering: Lowering, node: Node) -> Value:
    slope = literal(keyword(node, 1, "negative_slope", 0.01), node.results[0].dtype)
    return _map(lowering, node, f"({{0}} > 0 ? {{0}} : {{0}} * {slope})", node.arguments[0])


@lowers("elu")
def _elu(lowering: Lowering, node: Node) -> Value:
    alpha, scale, inner = (
        keyword(node, i, n, 1) for i, n in ((1, "alpha"), (2, "scale"), (3, "input_scale"))
    )
    dtype = node.results[0].dtype
    up, down = literal(scale, dtype), literal(alpha * scale, dtype)
    stretched = "{0}" if inner == 1 else f"({{0}} * {literal(inner, dtype)})"
    code = f"({{0}} > 0 ? {{0}} * {up} : {down} * km::expm1({stretched}))"
    return _map(lowering, node, code, node.arguments[0])


@lowers("softplus")
def _softplus(lowering: Lowering, node: Node) -> Value:
    dtype = node.results[0].dtype
    beta = literal(keyword(node, 1, "beta", 1.0), dtype)
    threshold = literal(keyword(node, 2, "threshold", 20.0), dtype)
    return _map(lowering, node, f"km::softplus({{0}}, {beta}, {threshold})", node.arguments[0])


@lowers("mish_backward")
def _mish_backward(lowering: Lowering, node: Node) -> Value:
    kind = node.results[0]
    gradient, x = lowering.operands(node, node.arguments[:2], kind.dtype)
    gate = Map("km::tanh(km::softplus({0}, 1.0f, 20.0f))", [x], kind.dtype, kind.shape)
    slope = "({1} + {2} * km::sigmoid({2}) * (1 - {1} * {1}))"
    return Map(f"{{0}} * {slope}", [gradient, gate, x], kind.dtype, kind.shape)


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
