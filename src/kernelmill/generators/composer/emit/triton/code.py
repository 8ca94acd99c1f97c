"""Trees of the lowering's expressions, written as Python: for a kernel, or for the host."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.emit.triton.syntax import (
    Binary,
    Call,
    Choice,
    Element,
    Name,
    Number,
    Tree,
    Unary,
    read,
)
from kernelmill.generators.composer.index import EDGE
from kernelmill.generators.composer.values import CTYPES

_WIDTH = {"bool": 0, "uint8": 1, "int8": 1, "int16": 2, "int": 3, "int32": 3, "int64": 4,
          "float16": 5, "bfloat16": 5, "float32": 6, "float64": 7}  # fmt: skip
"""Of two operands the wider type is the result's; `int` is that of sizes and indices."""
_TYPES = {ctype: dtype for dtype, ctype in CTYPES.items()} | {"int": "int", "long": "int"}
_TYPES |= {"from_half": "float32", "to_float16": "float16", "to_bfloat16": "bfloat16"}
"""What functions convert to."""
_BINDING = {"|": 2, "^": 3, "&": 4, "<<": 5, ">>": 5, "+": 6, "-": 6, "*": 7, "/": 7, "//": 7,
            "%": 7}  # fmt: skip
_COMPARISON, _SIGNED, _ATOM = 1, 8, 9
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_LOGICAL = {"&&": "&", "||": "|"}
_QUOTIENTS = {"floordiv": "//", "modulo": "%"}
"""Of sizes, which are not negative."""


class Term(NamedTuple):
    """A piece of Python, and the type of what it computes."""

    code: str
    dtype: str
    binding: int = _ATOM
    """How tightly its outermost operator binds."""

    def within(self, binding: int) -> str:
        return self.code if self.binding >= binding else f"({self.code})"

    @property
    def floating(self) -> bool:
        return self.dtype.startswith("float")


_CONSTANTS = {
    "km::inf": Term('float("inf")', "float32"),
    "km::nan": Term('float("nan")', "float32"),
    "true": Term("True", "bool"),
    "false": Term("False", "bool"),
    EDGE: Term("0", "int"),
}


def is_number(code: str) -> bool:
    return code.replace(".", "", 1).replace("e-", "", 1).isdigit()


class Language(ABC):
    """What one side of a program calls things."""

    functions: ClassVar[dict[str, str]]
    """C++ functions, as Python with {0}, {1}... in it."""

    def __init__(self, type_of: Callable[[str], str]) -> None:
        self._type_of = type_of

    def write(self, code: str) -> Term:
        return self.term(read(code))

    def term(self, tree: Tree) -> Term:
        match tree:
            case Number(text):
                return _number(text)
            case Name(text):
                return self._name(text)
            case Unary(sign, operand):
                return self._unary(sign, self.term(operand))
            case Binary(sign, left, right):
                return self._binary(sign, self.term(left), self.term(right))
            case Choice(condition, chosen, otherwise):
                parts = [self.term(part) for part in (condition, chosen, otherwise)]
                return self.choice(self._logical(parts[0]), parts[1], parts[2])
            case Element(memory, place):
                return self.element(memory, self.term(place))
            case Call(function, arguments):
                return self._call(function, [self.term(argument) for argument in arguments])

    @abstractmethod
    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term: ...

    @abstractmethod
    def element(self, memory: str, place: Term) -> Term: ...

    @abstractmethod
    def cast(self, term: Term, dtype: str) -> Term: ...

    def _name(self, text: str) -> Term:
        return _CONSTANTS.get(text) or Term(text, self._type_of(text))

    def _unary(self, sign: str, operand: Term) -> Term:
        if sign == "!":
            return Term(f"{operand.within(2)} == 0", "bool", _COMPARISON)
        return Term(f"{sign}{operand.within(_SIGNED)}", operand.dtype, _SIGNED)

    def _binary(self, sign: str, left: Term, right: Term) -> Term:
        if sign in _LOGICAL:
            left, right = self._logical(left), self._logical(right)
            return _joined(_LOGICAL[sign], left, right, "bool")
        if sign in _COMPARISONS:
            return Term(f"{left.within(2)} {sign} {right.within(2)}", "bool", _COMPARISON)
        dtype = wider(left.dtype, right.dtype)
        if dtype == "bool" and sign not in "&|^":
            left, right = self.cast(left, "int"), self.cast(right, "int")
            dtype = "int"
        if sign == "/" and "float" not in dtype:
            sign = "//"
        return _folded(sign, left, right) or _joined(sign, left, right, dtype)

    def _logical(self, term: Term) -> Term:
        if term.dtype == "bool":
            return term
        return Term(f"{term.within(2)} != 0", "bool", _COMPARISON)

    def _call(self, function: str, arguments: list[Term]) -> Term:
        if function in _TYPES:
            return self.cast(arguments[0], _TYPES[function])
        if function.endswith("::max") and "numeric_limits" in function:
            return Term(str(2**63 - 1), "int64")
        if function in _QUOTIENTS:
            return _joined(_QUOTIENTS[function], arguments[0], arguments[1], "int")
        template = self.functions.get(function.partition("<")[0])
        if template is None:
            raise Declined(f"the function {function}")
        dtype = "bool"
        for argument in arguments:
            dtype = wider(dtype, argument.dtype)
        return self.call(template, arguments, dtype)

    def call(self, template: str, arguments: list[Term], dtype: str) -> Term:
        return Term(template.format(*(argument.code for argument in arguments)), dtype)


def _number(text: str) -> Term:
    if text.endswith("f") or "." in text or "e" in text:
        return Term(text.removesuffix("f"), "float32")
    return Term(text, "int")


def _joined(sign: str, left: Term, right: Term, dtype: str) -> Term:
    binding = _BINDING[sign]
    code = f"{left.within(binding)} {sign} {right.within(binding + 1)}"
    return Term(code, dtype, binding)


def _folded(sign: str, left: Term, right: Term) -> Term | None:
    """Sums and products with nothing in them."""
    if sign in ("+", "-") and right.code == "0":
        return left
    if sign == "+" and left.code == "0":
        return right
    return None


def wider(one: str, other: str) -> str:
    return one if _WIDTH[one] >= _WIDTH[other] else other


class HostLanguage(Language):
    """Sizes, grids and numbers, computed before a launch."""

    functions: ClassVar[dict[str, str]] = {
        "larger": "max({0}, {1})",
        "smaller": "min({0}, {1})", "std::sqrt": "math.sqrt({0})", "km::sqrt": "math.sqrt({0})",
        "std::pow": "pow({0}, {1})",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__(lambda name: "int")

    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        code = f"({chosen.code} if {condition.code} else {otherwise.code})"
        return Term(code, wider(chosen.dtype, otherwise.dtype))

    def element(self, memory: str, place: Term) -> Term:
        raise Declined("a size that is known on the device only")

    def cast(self, term: Term, dtype: str) -> Term:
        function = "float" if "float" in dtype else "bool" if dtype == "bool" else "int"
        return term if term.dtype == dtype else Term(f"{function}({term.code})", dtype)


def host(code: str) -> str:
    return HostLanguage().write(code).code


class KernelLanguage(Language):
    """Elements of tiles. `load` gives the code that reads memory."""

    functions: ClassVar[dict[str, str]] = {
        "km::abs": "tl.abs({0})", "km::exp": "tl.exp({0})", "km::exp_nonpositive": "tl.exp({0})",
        "km::exp2": "tl.exp2({0})",
        "km::log": "tl.log({0})", "km::log2": "tl.log2({0})", "km::sin": "tl.sin({0})",
        "km::cos": "tl.cos({0})", "km::erf": "tl.erf({0})", "km::floor": "tl.floor({0})",
        "km::ceil": "tl.ceil({0})", "km::sqrt": "tl.sqrt_rn({0})",
        "km::relu": "tl.where({0} < 0, 0.0, {0})", "km::positive": "tl.where({0} < 0, 0.0, {0})",
        "km::maximum": "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
        "km::minimum": "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
        "std::fmax": "tl.where(({0} > {1}) | ({1} != {1}), {0}, {1})",
        "std::fmin": "tl.where(({0} < {1}) | ({1} != {1}), {0}, {1})",
        "km::clamped_below": "tl.where({0} < {1}, {1}, {0})",
        "km::clamped_above": "tl.where({0} > {1}, {1}, {0})",
        "km::expm1": "expm1({0})", "km::log1p": "log1p({0})", "km::tanh": "tanh({0})",
        "km::sinh": "sinh({0})", "km::cosh": "cosh({0})", "km::tan": "tan({0})",
        "km::sigmoid": "sigmoid({0})", "km::logsigmoid": "logsigmoid({0})",
        "km::softplus": "softplus({0}, {1}, {2})", "km::mish": "mish({0})",
        "km::gelu_erf": "gelu_erf({0})", "km::gelu_tanh": "gelu_tanh({0})",
        "km::hardswish": "hardswish({0})", "km::hardsigmoid": "hardsigmoid({0})",
        "km::trunc": "trunc({0})", "km::round": "round_even({0})",
        "km::copysign": "copysign({0}, {1})", "km::pow": "power({0}, {1})",
        "km::fmod": "fmod({0}, {1})", "km::remainder": "remainder({0}, {1})",
        "km::modulo": "floor_modulo({0}, {1})", "km::floordiv": "floor_quotient({0}, {1})",
        "larger": "tl.maximum({0}, {1})", "smaller": "tl.minimum({0}, {1})",
        "std::max": "tl.maximum({0}, {1})",
    } | {
        f"{space}::{name}": f"tl.extra.cuda.libdevice.{name}({places})"
        for space, names, places in (
            ("km", "acos asin atan", "{0}"),
            ("std", "erfc asinh acosh atanh lgamma", "{0}"),
            ("std", "atan2 hypot", "{0}, {1}"),
        )
        for name in names.split()
    }  # fmt: skip

    def __init__(self, type_of: Callable[[str], str], load: Callable[[str, Term], Term]) -> None:
        super().__init__(type_of)
        self._load = load

    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        code = f"tl.where({condition.code}, {chosen.code}, {otherwise.code})"
        return Term(code, wider(chosen.dtype, otherwise.dtype))

    def element(self, memory: str, place: Term) -> Term:
        return self._load(memory, place)

    def cast(self, term: Term, dtype: str) -> Term:
        if term.dtype == dtype or (dtype == "int" and term.dtype.startswith(("int", "uint"))):
            return term
        if dtype == "int":
            return Term(f"tl.cast({term.code}, tl.int32)", dtype)
        if dtype == "bool":
            return self._logical(term)
        if term.dtype == "int" and term.code.lstrip("-").isdigit() and "float" in dtype:
            return Term(f"{term.code}.0", dtype)
        return Term(f"tl.cast({term.code}, tl.{dtype})", dtype)

    def call(self, template: str, arguments: list[Term], dtype: str) -> Term:
        if "(" in template and all(
            is_number(a.code) or a.code.startswith("float(") for a in arguments
        ):
            first, *rest = arguments  # Triton's functions want a tensor among their arguments
            kind = "int32" if dtype == "int" else dtype
            arguments = [first._replace(code=f"tl.full([], {first.code}, tl.{kind})"), *rest]
        return super().call(template, arguments, dtype)
