"""Functions of elements."""

from typing import Any

from msgspec.structs import replace

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Node
from kernelmill.generators.composer.lowering.registry import keyword
from kernelmill.generators.composer.targets.pypto.held import Held
from kernelmill.generators.composer.targets.pypto.lowering.registry import Lowering, lowers, number

_TANH = "e = pypto.expm1(pypto.abs({0}) * -2.0); t = e / (e + 2.0) * -1.0"
_ERF = (
    "a = pypto.minimum(pypto.abs({0}), 4.0); q = a * 9.25604854e-06 - 0.000117639494; "
    "q = q * a + 0.000632831128; q = q * a - 0.00166701828; q = q * a + 0.000160388139; "
    "q = q * a + 0.0191530678; q = q * a - 0.102777831; q = q * a - 0.636619389; "
    "q = q * a + 5.86353834e-08; e = pypto.expm1(a * -1.12837923 + a * q) * -1.0"
)
"""erfc(a) = exp(a Q(a)) for 0 <= a <= 4, where beyond it erf is 1."""
_PHI = (
    "a = pypto.minimum(pypto.abs({0}), 7.0); q = a * -1.85027604e-10 + 8.74788686e-09; "
    "q = q * a - 1.85709538e-07; q = q * a + 2.33335209e-06; q = q * a - 1.91317486e-05; "
    "q = q * a + 0.000104300416; q = q * a - 0.000338416226; q = q * a + 7.4608688e-05; "
    "q = q * a + 0.00689353095; q = q * a - 0.0524225235; q = q * a - 0.459223092; "
    "q = q * a - 1.15110421; e = pypto.exp(a * q * 0.6931471805599453)"
)
"""For x < 0, twice the normal distribution is 2 ** (a Q(a)) with a = |x|."""
_POSITIVE = "pypto.where({0} < 0.0, 0.0, {0})"
_UNARY = {
    "abs": "pypto.abs({0})", "ceil": "pypto.ceil({0})", "exp": "pypto.exp({0})",
    "exp2": "pypto.exp2({0})", "expm1": "pypto.expm1({0})", "floor": "pypto.floor({0})",
    "log": "pypto.log({0})", "log10": "pypto.log10({0})", "log1p": "pypto.log1p({0})",
    "log2": "pypto.log2({0})", "neg": "{0} * -1.0", "reciprocal": "pypto.reciprocal({0})",
    "relu": _POSITIVE, "round": "pypto.round({0})", "rsqrt": "pypto.rsqrt({0})",
    "sigmoid": "pypto.reciprocal(pypto.exp({0} * -1.0) + 1.0)",
    "silu": "{0} / (pypto.exp({0} * -1.0) + 1.0)",
    "sqrt": "pypto.sqrt({0})", "trunc": "pypto.trunc({0})", "sign": "pypto.sign({0})",
    "square": "{0} * {0}", "sin": "pypto.sin({0})", "cos": "pypto.cos({0})",
    "tanh": _TANH + "; pypto.where({0} < 0.0, t * -1.0, t)",
    "erf": _ERF + "; pypto.where({0} < 0.0, e * -1.0, e)",
    "cosh": "(pypto.exp({0}) + pypto.exp({0} * -1.0)) * 0.5",
    "log_sigmoid": "pypto.where({0} < 0.0, {0}, 0.0) - "
                   "pypto.log1p(pypto.exp(pypto.abs({0}) * -1.0))",
    "hardsigmoid": "pypto.clip({0} + 3.0, 0.0, 6.0) / 6.0",
    "hardswish": "{0} * pypto.clip({0} + 3.0, 0.0, 6.0) / 6.0",
    "mish": "e = pypto.exp(pypto.minimum({0}, 20.0)); n = e * (e + 2.0); {0} * (n / (n + 2.0))",
}  # fmt: skip
_BINARY = {
    "maximum": "pypto.maximum({0}, {1})", "minimum": "pypto.minimum({0}, {1})",
    "pow": "pypto.pow({0}, {1})", "fmod": "pypto.fmod({0}, {1})",
    "remainder": "pypto.remainder({0}, {1})", "copysign": "pypto.copysign({0}, {1})",
    "hypot": "pypto.hypot({0}, {1})",
}  # fmt: skip
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_POWERS = {
    1: "{0} * 1.0", 2: "{0} * {0}", 3: "{0} * {0} * {0}", 4: "s = {0} * {0}; s * s",
    -1: "pypto.reciprocal({0})", 0.5: "pypto.sqrt({0})", -0.5: "pypto.rsqrt({0})",
}  # fmt: skip


def _apply(lowering: Lowering, node: Node, code: str, *arguments: Any) -> Held:
    kind = node.results[0]
    operands = lowering.operands(node, *arguments)
    return lowering.pointwise(_label(node), code, operands, kind.shape, kind.dtype)


def _label(node: Node) -> str:
    return node.op.partition(".")[0].strip("_")


def _whole_numbers(node: Node) -> bool:
    return "int" in node.results[0].dtype


@lowers(*_UNARY)
def _unary(lowering: Lowering, node: Node) -> Held:
    code = _UNARY[node.op.partition(".")[0]]
    if _whole_numbers(node):
        code = {"neg": "{0} * -1", "abs": "pypto.abs({0})"}.get(_label(node), "")
    if not code:
        raise Declined(f"aten.{node.op} of whole numbers")
    return _apply(lowering, node, code, node.arguments[0])


@lowers(*_BINARY)
def _binary(lowering: Lowering, node: Node) -> Held:
    name, (left, right) = node.op.partition(".")[0], node.arguments[:2]
    if name == "pow" and isinstance(right, int | float) and right in _POWERS:
        return _apply(lowering, node, _POWERS[right], left)
    if name == "pow" and not node.op.endswith(("Tensor_Scalar", "Tensor_Tensor")):
        raise Declined("aten.pow of a number")
    return _apply(lowering, node, _BINARY[name], left, right)


@lowers("add", "sub", "rsub")
def _sum(lowering: Lowering, node: Node) -> Held:
    first, second = lowering.operands(node, *node.arguments[:2])
    if node.op.startswith("rsub"):
        first, second = second, first
    dtype = node.results[0].dtype
    factor = keyword(node, 2, "alpha", 1)
    scaled = "{1}" if factor == 1 else f"{{1}} * {number(factor, dtype)}"
    if node.op.startswith("add"):
        code = f"{{0}} + {scaled}" if first.number == "" else f"{scaled} + {{0}}"
    elif first.number:
        code = f"{scaled} * {'-1' if _whole_numbers(node) else '-1.0'} + {{0}}"
    else:
        code = f"{{0}} - {scaled}"
    return lowering.pointwise(_label(node), code, [first, second], *_result(node))


def _result(node: Node) -> tuple[Any, str]:
    return node.results[0].shape, node.results[0].dtype


@lowers("mul")
def _product(lowering: Lowering, node: Node) -> Held:
    first, second = lowering.operands(node, *node.arguments[:2])
    if node.results[0].dtype == "bool":
        return lowering.pointwise("and", "pypto.logical_and({0}, {1})", [first, second],
                                  *_result(node))  # fmt: skip
    code = "{1} * {0}" if first.number else "{0} * {1}"
    return lowering.pointwise("mul", code, [first, second], *_result(node))


@lowers("div")
def _quotient(lowering: Lowering, node: Node) -> Held:
    mode = keyword(node, 2, "rounding_mode")
    first, second = lowering.operands(node, *node.arguments[:2])
    whole = _whole_numbers(node)
    given = tuple(
        f"pypto.cast({{{at}}}, pypto.DT_FP32)" if whole and not one.number else f"{{{at}}}"
        for at, one in enumerate((first, second))
    )
    code = f"pypto.reciprocal({given[1]}) * {{0}}" if first.number else " / ".join(given)
    code = {None: code, "floor": f"pypto.floor({code})", "trunc": f"pypto.trunc({code})"}[mode]
    if whole:  # right up to 2**24: PyPTO divides floats only
        code = f"pypto.cast({code}, pypto.DT_INT32)"
    return lowering.pointwise("div", code, [first, second], *_result(node))


@lowers(*_COMPARED)
def _compared(lowering: Lowering, node: Node) -> Held:
    sign = _COMPARED[node.op.partition(".")[0]]
    first = lowering.value(node.arguments[0])
    second = lowering.value(node.arguments[1], first.dtype)
    if first.number and not second.number:
        first, second, sign = second, first, _MIRRORED[sign]
    return lowering.pointwise(_label(node), _comparison(first, second, sign), [first, second],
                              *_result(node))  # fmt: skip


def _comparison(first: Held, second: Held, sign: str) -> str:
    """In float32; numbers that are not finite are beyond all others."""
    sides = [
        f"pypto.cast({{{at}}}, pypto.DT_FP32)" if "int" in one.dtype and not one.number
        else f"{{{at}}}" for at, one in enumerate((first, second))
    ]  # fmt: skip
    if "int" in first.dtype and second.number and "int" in second.dtype:
        return f"{sides[0]} {sign} {float(second.number)}"
    for name, beyond in (('float("inf")', "> 3.4028234663852886e+38"),
                         ('float("-inf")', "< -3.4028234663852886e+38")):  # fmt: skip
        if second.number == name and sign in ("==", "!="):
            found = f"{sides[0]} {beyond}"
            return found if sign == "==" else f"pypto.logical_not({found})"
    return f"{sides[0]} {sign} {sides[1]}"


@lowers("logical_not", "bitwise_not")
def _not(lowering: Lowering, node: Node) -> Held:
    if node.results[0].dtype != "bool":
        raise Declined(f"aten.{node.op} of whole numbers")
    operand = _cast(lowering, lowering.value(node.arguments[0]), "bool")
    return lowering.pointwise("not", "pypto.logical_not({0})", [operand], *_result(node))


@lowers("logical_and", "bitwise_and", "logical_or", "bitwise_or")
def _logical(lowering: Lowering, node: Node) -> Held:
    if node.results[0].dtype != "bool":
        raise Declined(f"aten.{node.op} of whole numbers")
    both = _label(node).endswith("and")
    code = "pypto.logical_and({0}, {1})"
    if not both:
        code = ("a = pypto.logical_not({0}); b = pypto.logical_not({1}); "
                "pypto.logical_not(pypto.logical_and(a, b))")  # fmt: skip
    operands = [_cast(lowering, lowering.value(one), "bool") for one in node.arguments[:2]]
    neutral = str(both)
    bearing = [one for one in operands if one.number != neutral]
    if any(one.number for one in bearing) or not bearing:
        decided = next((one.number for one in bearing if one.number), neutral)
        return Held.of_number(decided, "bool", node.results[0].shape)
    if len(bearing) == 1:
        code = "pypto.logical_not(pypto.logical_not({0}))"
    return lowering.pointwise(_label(node), code, bearing, *_result(node))


@lowers("isnan")
def _isnan(lowering: Lowering, node: Node) -> Held:
    return lowering.pointwise(
        "isnan", "{0} != {0}", [lowering.value(node.arguments[0])], *_result(node)
    )


@lowers("where")
def _choice(lowering: Lowering, node: Node) -> Held:
    condition, first, second = node.arguments
    return _chosen(lowering, node, condition, first, second)


@lowers("masked_fill")
def _masked_fill(lowering: Lowering, node: Node) -> Held:
    source, mask, filler = node.arguments
    return _chosen(lowering, node, mask, filler, source)


def _chosen(lowering: Lowering, node: Node, condition: Any, first: Any, second: Any) -> Held:
    kind = node.results[0]
    chosen = lowering.value(condition, "bool")
    if chosen.number or kind.dtype == "bool":
        raise Declined(f"aten.{node.op} of conditions, or under one that is known")
    branches = [_cast(lowering, one, kind.dtype) for one in lowering.operands(node, first, second)]
    code = "pypto.where({0}, {1}, {2})"
    if "int" in kind.dtype:
        sides = [f"{float(one.number)}" if one.number else f"pypto.cast({{{at}}}, pypto.DT_FP32)"
                 for at, one in enumerate(branches, 1)]  # fmt: skip
        code = f"w = pypto.where({{0}}, {', '.join(sides)}); pypto.cast(w, pypto.DT_INT32)"
    operands = [chosen, *branches]
    return lowering.writer.pointwise("where", code, operands, *_result(node), conditions=1)


@lowers("clamp", "clamp_min", "clamp_max", "hardtanh")
def _clamp(lowering: Lowering, node: Node) -> Held:
    """By choices, so that what is not a number stays so."""
    bound = 1.0 if node.op == "hardtanh" else None
    low = keyword(node, 1, "min", None if bound is None else -bound)
    high = keyword(node, 2, "max", bound)
    if node.op.startswith("clamp_max"):
        low, high = None, node.arguments[1]
    value = lowering.value(node.arguments[0])
    for limit, sign in ((low, "<"), (high, ">")):
        if limit is not None:
            (other,) = lowering.operands(node, limit)
            code = f"pypto.where({{0}} {sign} {{1}}, {{1}}, {{0}})"
            value = lowering.pointwise("clamp", code, [value, other], *_result(node))
    return value


@lowers("gelu")
def _gelu(lowering: Lowering, node: Node) -> Held:
    if keyword(node, 1, "approximate", "none") == "tanh":
        code = ("u = {0} * ({0} * {0} * 0.044715 + 1.0) * -1.5957691216057308; "
                "{0} / (pypto.exp(u) + 1.0)")  # fmt: skip
    else:
        code = _PHI + "; {0} * pypto.where({0} > 0.0, e * -1.0 + 2.0, e) * 0.5"
    return _apply(lowering, node, code, node.arguments[0])


@lowers("leaky_relu")
def _leaky_relu(lowering: Lowering, node: Node) -> Held:
    slope = number(keyword(node, 1, "negative_slope", 0.01), "float32")
    code = f"pypto.where({{0}} > 0.0, {{0}}, {{0}} * {slope})"
    return _apply(lowering, node, code, node.arguments[0])


@lowers("elu")
def _elu(lowering: Lowering, node: Node) -> Held:
    alpha, scale, inner = (
        keyword(node, at, name, 1.0)
        for at, name in ((1, "alpha"), (2, "scale"), (3, "input_scale"))
    )
    up, down = number(scale, "float32"), number(alpha * scale, "float32")
    code = (
        f"pypto.where({{0}} > 0.0, {{0}} * {up}, "
        f"pypto.expm1({{0}} * {number(inner, 'float32')}) * {down})"
    )
    return _apply(lowering, node, code, node.arguments[0])


@lowers("softplus")
def _softplus(lowering: Lowering, node: Node) -> Held:
    beta = number(keyword(node, 1, "beta", 1.0), "float32")
    most = number(keyword(node, 2, "threshold", 20.0), "float32")
    code = (
        f"z = {{0}} * {beta}; p = pypto.where(z < 0.0, 0.0, z); "
        f"s = (p + pypto.log1p(pypto.exp(pypto.abs(z) * -1.0))) / {beta}; "
        f"pypto.where(z > {most}, {{0}}, s)"
    )
    return _apply(lowering, node, code, node.arguments[0])


@lowers("clone", "alias", "detach", "lift_fresh_copy", "contiguous")
def _same(lowering: Lowering, node: Node) -> Held:
    return lowering.value(node.arguments[0])


@lowers("_to_copy", "to")
def _converted(lowering: Lowering, node: Node) -> Held:
    return _cast(lowering, lowering.value(node.arguments[0]), node.results[0].dtype)


def _cast(lowering: Lowering, held: Held, dtype: str) -> Held:
    if held.dtype == dtype:
        return held
    if held.number:
        value = held.number.strip("()")
        plain = value.replace(".", "").replace("-", "").replace("e", "").isdigit()
        code = number(float(value), dtype) if plain else held.number
        return replace(held, number=code, dtype=dtype)
    if dtype == "bool":
        return lowering.pointwise("nonzero", "{0} != 0.0", [held], held.shape, dtype)
    code = "{0}"
    if "int" in dtype and ("float" in held.dtype or held.dtype == "bool"):
        code = "pypto.cast(pypto.trunc({0}), pypto.DT_INT32)"
    elif "float" in dtype and "int" in held.dtype:
        code = "pypto.cast({0}, pypto.DT_FP32)"
    return lowering.pointwise("cast", code, [held], held.shape, dtype)


@lowers("full", "full_like", "scalar_tensor", "zeros", "zeros_like", "ones", "ones_like",
        "new_zeros", "new_full", "new_ones", "empty", "empty_like", "new_empty",
        "empty_permuted", "empty.memory_format")  # fmt: skip
def _constant(lowering: Lowering, node: Node) -> Held:
    name, kind = node.op.partition(".")[0], node.results[0]
    place = {"full": 1, "full_like": 1, "scalar_tensor": 0, "new_full": 2}.get(name)
    value = node.arguments[place] if place is not None else int("ones" in name)
    return Held.of_number(number(value, kind.dtype), kind.dtype, kind.shape)


@lowers("_assert_async", "_assert_tensor_metadata", "_assert_scalar")
def _nothing(lowering: Lowering, node: Node) -> list[Held | None]:
    return [None]
