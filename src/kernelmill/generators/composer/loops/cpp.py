"""Expressions in C++."""

import math

from kernelmill.generators.composer.ir.expressions import INDEX, LARGEST_PLACE, Constant, Expression
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.printing import Printed, Printer

CTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "km::float16",
    "bfloat16": "km::bfloat16",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
"""Element types by their names in torch."""
_PLAIN_TYPES = {INDEX: "long", "int": "int"}


class _Cpp(Printer):
    def constant(self, constant: Constant) -> Printed:
        value, dtype = constant.value, constant.dtype
        if dtype == "bool":
            return Printed("true" if value else "false")
        if dtype in ("float32", "float64"):
            return self._real(value, dtype)
        if constant == LARGEST_PLACE:
            return Printed("std::numeric_limits<int64_t>::max()")
        if dtype != INDEX:
            return Printed(f"{CTYPES[dtype]}({value})")
        return Printed(str(value), self.prefix if value < 0 else self.single)

    def dtype(self, dtype: str) -> str:
        return _PLAIN_TYPES.get(dtype) or CTYPES[dtype]

    def function(self, operator: Operator) -> str:
        return str(operator.value.cpp)

    def _real(self, value: float, dtype: str) -> Printed:
        if math.isnan(value):
            return Printed("km::nan")
        if math.isinf(value):
            return Printed("-km::inf" if value < 0 else "km::inf", self.single)
        text = repr(float(value)) + ("f" if dtype == "float32" else "")
        return Printed(f"({text})" if value < 0 else text)


_PRINTER = _Cpp()


def cpp(tree: Expression) -> str:
    """An expression as C++."""
    return _PRINTER.text(tree)


def ctype_of(dtype: str) -> str:
    return _PRINTER.dtype(dtype)
