"""Expressions in Python: for a kernel, or for the host."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.expressions import (
    INDEX,
    LARGEST_PLACE,
    Apply,
    Cast,
    Constant,
    Element,
    Expression,
    Variable,
)
from kernelmill.generators.composer.ir.index import EDGE
from kernelmill.generators.composer.ir.operators import COMPARISONS, Form, Operator
from kernelmill.generators.composer.ir.sizes import read_size

_WIDTH = {"bool": 0, "uint8": 1, "int8": 1, "int16": 2, "int": 3, "int32": 3, "int64": 4,
          "float16": 5, "bfloat16": 5, "float32": 6, "float64": 7}  # fmt: skip
"""Of two operands the wider type is the result's; `int` is that of sizes and indices."""
_BINDING = {"|": 2, "^": 3, "&": 4, "<<": 5, ">>": 5, "+": 6, "-": 6, "*": 7, "/": 7, "//": 7,
            "%": 7}  # fmt: skip
_COMPARISON, _SIGNED, ATOM = 1, 8, 9
_LOGICAL = {Operator.AND: "&", Operator.OR: "|"}


class Term(NamedTuple):
    """A piece of Python, and the type of what it computes."""

    code: str
    dtype: str
    binding: int = ATOM
    """How tightly its outermost operator binds."""
    names: frozenset[str] = frozenset()
    """Names of the kernel that are in it."""

    def within(self, binding: int) -> str:
        return self.code if self.binding >= binding else f"({self.code})"

    @property
    def floating(self) -> bool:
        return self.dtype.startswith("float")


def is_number(code: str) -> bool:
    return code.replace(".", "", 1).replace("e-", "", 1).isdigit()


class Language(ABC):
    """What one side of a program calls things."""

    def __init__(self, type_of: Callable[[str], str]) -> None:
        self._type_of = type_of

    def write(self, tree: Expression) -> Term:
        match tree.bare:
            case Constant() as constant:
                return self._constant(constant)
            case Variable(name):
                return self._name(name)
            case Element(memory, place):
                return self.element(memory, self.write(place))
            case Cast(dtype, operand):
                inner = self.write(operand)
                return self.cast(inner, dtype)._replace(names=inner.names)
            case Apply(operator, operands):
                parts = [self.write(operand) for operand in operands]
                names = frozenset().union(*(part.names for part in parts))
                return self._applied(operator, parts)._replace(names=names)
        raise TypeError(type(tree).__name__)

    @abstractmethod
    def form(self, form: Form) -> str:
        """How this side writes a function; empty where it cannot."""

    @abstractmethod
    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term: ...

    @abstractmethod
    def element(self, memory: str, place: Term) -> Term: ...

    @abstractmethod
    def cast(self, term: Term, dtype: str) -> Term: ...

    def _constant(self, constant: Constant) -> Term:
        value, dtype = constant.value, constant.dtype
        if dtype == "bool":
            return Term(str(bool(value)), dtype)
        if "float" in dtype:
            sign = "-" if value < 0 else ""
            code = repr(abs(value)) if math.isfinite(value) else f'float("{abs(value)}")'
            return Term(sign + code, "float32", _SIGNED if sign else ATOM)
        if constant == LARGEST_PLACE:
            return Term(str(value), dtype)
        term = Term(str(value), "int", _SIGNED if value < 0 else ATOM)
        return term if dtype == INDEX else self.cast(term, dtype)

    def _name(self, text: str) -> Term:
        if text == EDGE.name:
            return Term("0", "int")
        return Term(text, self._type_of(text), names=frozenset({text}))

    def _applied(self, operator: Operator, parts: list[Term]) -> Term:
        if operator is Operator.SELECT:
            return self.choice(self._logical(parts[0]), parts[1], parts[2])
        if not operator.is_sign:
            return self._called(operator.value, parts)
        if len(parts) == 1:
            return self._unary(operator, parts[0])
        return self._binary(operator, *parts)

    def _unary(self, operator: Operator, operand: Term) -> Term:
        if operator is Operator.NOT:
            return Term(f"{operand.within(2)} == 0", "bool", _COMPARISON)
        return Term(f"{operator.value.cpp}{operand.within(_SIGNED)}", operand.dtype, _SIGNED)

    def _binary(self, operator: Operator, left: Term, right: Term) -> Term:
        if operator in _LOGICAL:
            left, right = self._logical(left), self._logical(right)
            return _joined(_LOGICAL[operator], left, right, "bool")
        sign = operator.value.cpp
        if operator in COMPARISONS:
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

    def _called(self, form: Form, arguments: list[Term]) -> Term:
        if form.converts:
            return self.cast(arguments[0], form.converts)
        template = self.form(form)
        if not template:
            raise Declined(f"the function {form.cpp}")
        if template in _BINDING:
            return _joined(template, arguments[0], arguments[1], "int")
        dtype = "bool"
        for argument in arguments:
            dtype = wider(dtype, argument.dtype)
        return self.call(template, arguments, dtype)

    def call(self, template: str, arguments: list[Term], dtype: str) -> Term:
        return Term(template.format(*(argument.code for argument in arguments)), dtype)


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

    def __init__(self) -> None:
        super().__init__(lambda name: "int")

    def form(self, form: Form) -> str:
        return form.host

    def choice(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        code = f"({chosen.code} if {condition.code} else {otherwise.code})"
        return Term(code, wider(chosen.dtype, otherwise.dtype))

    def element(self, memory: str, place: Term) -> Term:
        raise Declined("a size that is known on the device only")

    def cast(self, term: Term, dtype: str) -> Term:
        function = "float" if "float" in dtype else "bool" if dtype == "bool" else "int"
        return term if term.dtype == dtype else Term(f"{function}({term.code})", dtype)


def host(text: str) -> str:
    """An expression of sizes, in Python of the host."""
    return HostLanguage().write(read_size(text)).code
