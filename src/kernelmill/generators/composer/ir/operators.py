"""The scalar operators: one row for each, with its form in every language.

To add an operator on single elements is to add a row here. The operators of ATen that mean just it
are named in the row; what is made of several operators has a rule in `lowering/pointwise.py`.
"""

from enum import Enum
from typing import NamedTuple


class Form(NamedTuple):
    """An operator in every language."""

    cpp: str
    """A function, or the sign between (or before) its operands."""
    triton: str = ""
    """Of a function, with {0}, {1}... for its operands; without one, Triton cannot say it."""
    pallas: str = ""
    """The same in JAX, for the kernels of a TPU."""
    host: str = ""
    """The same in Python of the host, where sizes need it."""
    aten: str = ""
    """Names of ATen operators that mean just this, apart by spaces."""
    polynomial: bool = False
    """Whether the run time computes it by a polynomial."""
    arity: int = 1
    converts: str = ""
    """The type to which it converts its operand, if it does no more."""

    @property
    def is_sign(self) -> bool:
        return not self.cpp[0].isalpha()

    @property
    def name(self) -> str:
        """Of a function, outside of C++."""
        return self.cpp.partition("::")[2].partition("::")[0].partition("<")[0] or self.cpp


def _libdevice(name: str, places: str = "{0}") -> str:
    return f"tl.extra.cuda.libdevice.{name}({places})"


_LARGER, _SMALLER = "tl.maximum({0}, {1})", "tl.minimum({0}, {1})"
_WITH_NAN = "({0}, {1}, propagate_nan=tl.PropagateNan.ALL)"


class Operator(Enum):
    """A scalar operator. Its value is its form in every language."""

    # Signs, in C++'s spelling.
    OR = Form("||", pallas="{0} | {1}", aten="logical_or", arity=2)
    AND = Form("&&", pallas="{0} & {1}", aten="logical_and", arity=2)
    BIT_OR = Form("|", pallas="{0} | {1}", aten="bitwise_or", arity=2)
    BIT_XOR = Form("^", aten="bitwise_xor", arity=2)
    BIT_AND = Form("&", pallas="{0} & {1}", aten="bitwise_and", arity=2)
    EQ = Form("==", pallas="{0} == {1}", aten="eq", arity=2)
    NE = Form("!=", pallas="{0} != {1}", aten="ne logical_xor", arity=2)
    LT = Form("<", pallas="{0} < {1}", aten="lt", arity=2)
    LE = Form("<=", pallas="{0} <= {1}", aten="le", arity=2)
    GT = Form(">", pallas="{0} > {1}", aten="gt", arity=2)
    GE = Form(">=", pallas="{0} >= {1}", aten="ge", arity=2)
    LEFT = Form("<<", aten="bitwise_left_shift __lshift__", arity=2)
    RIGHT = Form(">>", aten="bitwise_right_shift __rshift__", arity=2)
    ADD = Form("+", aten="add", arity=2)
    SUB = Form("-", aten="sub", arity=2)
    MUL = Form("*", aten="mul", arity=2)
    DIV = Form("/", aten="div", arity=2)
    MOD = Form("%", arity=2)
    SELECT = Form("?", aten="where", arity=3)
    NEG = Form("-", pallas="-{0}", aten="neg")
    NOT = Form("!", aten="logical_not")
    INVERT = Form("~", aten="bitwise_not")

    # Functions of elements.
    ABS = Form("km::abs", "tl.abs({0})", pallas="jnp.abs({0})", aten="abs")
    ACOS = Form("km::acos", _libdevice("acos"), aten="acos", polynomial=True)
    ACOSH = Form("std::acosh", _libdevice("acosh"), aten="acosh")
    ASIN = Form("km::asin", _libdevice("asin"), aten="asin", polynomial=True)
    ASINH = Form("std::asinh", _libdevice("asinh"), aten="asinh")
    ATAN = Form("km::atan", _libdevice("atan"), aten="atan", polynomial=True)
    ATANH = Form("std::atanh", _libdevice("atanh"), aten="atanh")
    ATAN2 = Form(
        "std::atan2",
        _libdevice("atan2", "{0}, {1}"),
        pallas="jnp.arctan2({0}, {1})",
        aten="atan2",
        arity=2,
    )
    CEIL = Form("km::ceil", "tl.ceil({0})", pallas="jnp.ceil({0})", aten="ceil")
    CLAMP_ABOVE = Form(
        "km::clamped_above",
        "tl.where({0} > {1}, {1}, {0})",
        pallas="jnp.minimum({0}, {1})",
        arity=2,
    )
    CLAMP_BELOW = Form(
        "km::clamped_below",
        "tl.where({0} < {1}, {1}, {0})",
        pallas="jnp.maximum({0}, {1})",
        arity=2,
    )
    COPYSIGN = Form("km::copysign", "copysign({0}, {1})", aten="copysign", arity=2)
    COS = Form("km::cos", "tl.cos({0})", pallas="jnp.cos({0})", aten="cos", polynomial=True)
    COSH = Form("km::cosh", "cosh({0})", pallas="cosh({0})", aten="cosh", polynomial=True)
    ERF = Form("km::erf", "tl.erf({0})", pallas="lax.erf({0})", aten="erf", polynomial=True)
    ERFC = Form("std::erfc", _libdevice("erfc"), aten="erfc")
    EXP = Form("km::exp", "tl.exp({0})", pallas="jnp.exp({0})", aten="exp", polynomial=True)
    EXP_NONPOSITIVE = Form("km::exp_nonpositive", "tl.exp({0})", polynomial=True)
    EXP2 = Form("km::exp2", "tl.exp2({0})", pallas="jnp.exp2({0})", aten="exp2", polynomial=True)
    EXPM1 = Form("km::expm1", "expm1({0})", pallas="expm1({0})", aten="expm1", polynomial=True)
    FLOOR = Form("km::floor", "tl.floor({0})", pallas="jnp.floor({0})", aten="floor")
    FLOOR_DIV = Form(
        "km::floordiv", "floor_quotient({0}, {1})", pallas="jnp.floor_divide({0}, {1})", arity=2
    )
    FLOOR_MOD = Form(
        "km::modulo", "floor_modulo({0}, {1})", pallas="jnp.remainder({0}, {1})", arity=2
    )
    FMAX = Form("std::fmax", "tl.where(({0} > {1}) | ({1} != {1}), {0}, {1})", aten="fmax", arity=2)
    FMIN = Form("std::fmin", "tl.where(({0} < {1}) | ({1} != {1}), {0}, {1})", aten="fmin", arity=2)
    FMOD = Form("km::fmod", "fmod({0}, {1})", pallas="jnp.fmod({0}, {1})", aten="fmod", arity=2)
    GELU_ERF = Form("km::gelu_erf", "gelu_erf({0})", pallas="gelu({0})", polynomial=True)
    GELU_TANH = Form("km::gelu_tanh", "gelu_tanh({0})", pallas="gelu_tanh({0})", polynomial=True)
    HARDSIGMOID = Form(
        "km::hardsigmoid", "hardsigmoid({0})", pallas="hardsigmoid({0})", aten="hardsigmoid"
    )
    HARDSWISH = Form("km::hardswish", "hardswish({0})", pallas="hardswish({0})", aten="hardswish")
    HYPOT = Form("std::hypot", _libdevice("hypot", "{0}, {1}"), aten="hypot", arity=2)
    INTEGER_MAX = Form("std::max<int64_t>", _LARGER, arity=2)
    LGAMMA = Form("std::lgamma", _libdevice("lgamma"), aten="lgamma")
    LOG = Form("km::log", "tl.log({0})", pallas="jnp.log({0})", aten="log", polynomial=True)
    LOG1P = Form("km::log1p", "log1p({0})", pallas="jnp.log1p({0})", aten="log1p", polynomial=True)
    LOG2 = Form("km::log2", "tl.log2({0})", pallas="jnp.log2({0})", aten="log2", polynomial=True)
    LOGADDEXP = Form("km::logaddexp::combine", "logaddexp({0}, {1})", polynomial=True, arity=2)
    LOGSIGMOID = Form(
        "km::logsigmoid",
        "logsigmoid({0})",
        pallas="logsigmoid({0})",
        aten="log_sigmoid",
        polynomial=True,
    )
    MAXIMUM = Form(
        "km::maximum",
        f"tl.maximum{_WITH_NAN}",
        pallas="jnp.maximum({0}, {1})",
        aten="maximum",
        arity=2,
    )
    MINIMUM = Form(
        "km::minimum",
        f"tl.minimum{_WITH_NAN}",
        pallas="jnp.minimum({0}, {1})",
        aten="minimum",
        arity=2,
    )
    MISH = Form(
        "km::mish",
        "mish({0})",
        pallas="mish({0})",
        aten="mish",
        polynomial=True,
    )
    NEXTAFTER = Form(
        "std::nextafter",
        _libdevice("nextafter", "{0}, {1}"),
        pallas="jnp.nextafter({0}, {1})",
        aten="nextafter",
        arity=2,
    )
    POSITIVE = Form("km::positive", "tl.where({0} < 0, 0.0, {0})", pallas="jnp.maximum({0}, 0.0)")
    POW = Form(
        "km::pow",
        "power({0}, {1})",
        pallas="jnp.power({0}, {1})",
        aten="pow",
        polynomial=True,
        arity=2,
    )
    RELU = Form(
        "km::relu", "tl.where({0} < 0, 0.0, {0})", pallas="jnp.maximum({0}, 0.0)", aten="relu"
    )
    REMAINDER = Form(
        "km::remainder",
        "remainder({0}, {1})",
        pallas="jnp.remainder({0}, {1})",
        aten="remainder",
        arity=2,
    )
    ROUND = Form("km::round", "round_even({0})", pallas="jnp.round({0})", aten="round")
    SIGMOID = Form(
        "km::sigmoid", "sigmoid({0})", pallas="jax.nn.sigmoid({0})", aten="sigmoid", polynomial=True
    )
    SIN = Form("km::sin", "tl.sin({0})", pallas="jnp.sin({0})", aten="sin", polynomial=True)
    SINH = Form("km::sinh", "sinh({0})", pallas="sinh({0})", aten="sinh", polynomial=True)
    SOFTPLUS = Form(
        "km::softplus",
        "softplus({0}, {1}, {2})",
        pallas="softplus({0}, {1}, {2})",
        polynomial=True,
        arity=3,
    )
    SQRT = Form(
        "km::sqrt", "tl.sqrt_rn({0})", host="math.sqrt({0})", pallas="jnp.sqrt({0})", aten="sqrt"
    )
    TAN = Form("km::tan", "tan({0})", pallas="jnp.tan({0})", aten="tan", polynomial=True)
    TANH = Form("km::tanh", "tanh({0})", pallas="jnp.tanh({0})", aten="tanh", polynomial=True)
    TRUNC = Form("km::trunc", "trunc({0})", pallas="trunc({0})", aten="trunc")

    # Conversions to and from half precision, which C++ has no casts for.
    FROM_HALF = Form("from_half", converts="float32")
    TO_FLOAT16 = Form("to_float16", converts="float16")
    TO_BFLOAT16 = Form("to_bfloat16", converts="bfloat16")

    # Functions of places, in the heads of C++'s loops.
    CEIL_DIV = Form("km::ceildiv", arity=2)
    PLACE_MAX = Form("std::max<long>", arity=2)
    PLACE_MIN = Form("std::min<long>", arity=2)

    # Functions of sizes, which are not negative.
    SIZE_DIV = Form("floordiv", "//", host="//", arity=2)
    SIZE_MOD = Form("modulo", "%", host="%", arity=2)
    SIZE_MAX = Form("larger", _LARGER, host="max({0}, {1})", arity=2)
    SIZE_MIN = Form("smaller", _SMALLER, host="min({0}, {1})", arity=2)
    SIZE_SQRT = Form("std::sqrt", host="math.sqrt({0})")
    SIZE_POW = Form("std::pow", host="pow({0}, {1})", arity=2)

    @property
    def is_sign(self) -> bool:
        return self.value.is_sign

    @property
    def is_costly(self) -> bool:
        """Whether the run time has a function for it."""
        return self.value.cpp.startswith("km::")


COMPARISONS = (
    Operator.EQ, Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE,
)  # fmt: skip
BY_ATEN = {name: operator for operator in Operator for name in operator.value.aten.split()}
"""The operator that an ATen operator is, by its name without its overload."""
