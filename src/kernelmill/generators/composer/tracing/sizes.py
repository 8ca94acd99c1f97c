"""Expressions of sizes, from sympy to words that C++ and Python share. Runs inside sandboxes."""

from fractions import Fraction
from typing import Any

from torch.utils._sympy.functions import FloorDiv, FloorToInt, IntTrueDiv, ToFloat, TruncToInt
from torch.utils._sympy.printers import PythonPrinter

_MOST_DENOMINATOR = 1 << 12
"""Of a fraction that a size is scaled by: a larger one was rounded itself."""


class Untraceable(Exception):
    """The reference does something a graph cannot say."""


def in_integers(expression: Any) -> Any:
    """Sizes that were scaled by a number and rounded down, without the way through real numbers."""
    return expression.replace(
        lambda part: isinstance(part, TruncToInt | FloorToInt), lambda part: _quotient(part.args[0])
    )


def _quotient(value: Any) -> Any:
    """A ratio of sizes, or a size times a simple fraction, rounded down: sizes are not negative."""
    if isinstance(value, IntTrueDiv):
        return FloorDiv(*value.args)
    factor, size = value.as_coeff_Mul()
    fraction = Fraction(float(factor))
    if not isinstance(size, ToFloat) or fraction.denominator > _MOST_DENOMINATOR:
        raise Untraceable(f"a size of {value}, rounded")
    whole = size.args[0] * fraction.numerator
    return whole if fraction.denominator == 1 else FloorDiv(whole, fraction.denominator)


class SizePrinter(PythonPrinter):
    """Sizes in words that C++ and Python share."""

    def _print_FloorDiv(self, expr: Any) -> str:  # noqa: N802
        return f"floordiv({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    _print_CleanDiv = _print_FloorDiv  # noqa: N815

    def _print_IntTrueDiv(self, expr: Any) -> str:  # noqa: N802
        over, under = (self._print(argument) for argument in expr.args)
        return f"(double({over}) / double({under}))"

    def _print_TruncToInt(self, expr: Any) -> str:  # noqa: N802
        raise Untraceable(f"a size of {expr}")

    _print_FloorToInt = _print_TruncToInt  # noqa: N815
    _print_CeilToInt = _print_TruncToInt  # noqa: N815
    _print_RoundToInt = _print_TruncToInt  # noqa: N815

    def _print_Max(self, expr: Any) -> str:  # noqa: N802
        return self._nested("larger", expr)

    def _print_Min(self, expr: Any) -> str:  # noqa: N802
        return self._nested("smaller", expr)

    def _print_Mod(self, expr: Any) -> str:  # noqa: N802
        return self._nested("modulo", expr)

    _print_PythonMod = _print_Mod  # noqa: N815

    def _nested(self, function: str, expr: Any) -> str:
        first, *rest = (self._print(argument) for argument in expr.args)
        for item in rest:
            first = f"{function}({first}, {item})"
        return str(first)

    def _print_ToFloat(self, expr: Any) -> str:  # noqa: N802
        return f"double({self._print(expr.args[0])})"

    def _print_FloatPow(self, expr: Any) -> str:  # noqa: N802
        return f"std::pow({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    def _print_OpaqueUnaryFn_sqrt(self, expr: Any) -> str:  # noqa: N802
        return f"std::sqrt(double({self._print(expr.args[0])}))"

    def _print_FloatTrueDiv(self, expr: Any) -> str:  # noqa: N802
        return f"(({self._print(expr.args[0])}) / ({self._print(expr.args[1])}))"

    def _print_Pow(self, expr: Any) -> str:  # noqa: N802
        base, exponent = expr.args
        if not exponent.is_integer or not exponent.is_number or exponent < 1:
            raise Untraceable(f"a size of {expr}")
        return "*".join([f"({self._print(base)})"] * int(exponent))
