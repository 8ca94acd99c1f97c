"""Printers of expressions: infix text with as few parentheses as a reader needs.

A product's operands stand in parentheses unless they are single, as do those of shifts and of
operators on bits: precedence that a reader has to look up is none.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from kernelmill.generators.composer.ir.expressions import (
    Apply,
    Argument,
    Cast,
    Constant,
    Element,
    Expression,
    Variable,
)
from kernelmill.generators.composer.ir.operators import COMPARISONS, Operator


class _Binding(NamedTuple):
    """How tightly a sign binds, and how tightly operands must to stand without parentheses."""

    own: int
    left: int
    right: int


_SELECT, _OR, _AND, _BITS, _COMPARISON, _SHIFT, _SUM, _PRODUCT, _PREFIX, _SINGLE = range(10)
_BINDINGS = {
    Operator.OR: _Binding(_OR, _OR, _AND),
    Operator.AND: _Binding(_AND, _AND, _COMPARISON),
    Operator.ADD: _Binding(_SUM, _SUM, _PRODUCT),
    Operator.SUB: _Binding(_SUM, _SUM, _SINGLE),
    **{sign: _Binding(_BITS, _SINGLE, _SINGLE)
       for sign in (Operator.BIT_OR, Operator.BIT_XOR, Operator.BIT_AND)},
    **{sign: _Binding(_COMPARISON, _SUM, _SUM) for sign in COMPARISONS},
    **{sign: _Binding(_SHIFT, _SINGLE, _SINGLE) for sign in (Operator.LEFT, Operator.RIGHT)},
    **{sign: _Binding(_PRODUCT, _SINGLE, _SINGLE)
       for sign in (Operator.MUL, Operator.DIV, Operator.MOD)},
}  # fmt: skip


class Printed(NamedTuple):
    """Text, and how tightly its outermost operator binds."""

    text: str
    binding: int = _SINGLE

    def within(self, binding: int) -> str:
        return self.text if self.binding >= binding else f"({self.text})"


class Printer(ABC):
    """What languages with infix signs have in common."""

    single: ClassVar[int] = _SINGLE
    prefix: ClassVar[int] = _PREFIX

    def text(self, tree: Expression) -> str:
        return self.printed(tree).text

    def printed(self, tree: Expression) -> Printed:
        match tree.bare:
            case Constant() as constant:
                return self.constant(constant)
            case Variable(name):
                return Printed(name)
            case Argument(number):
                return Printed(f"x{number}")
            case Cast(dtype, operand):
                return Printed(f"{self.dtype(dtype)}({self.text(operand)})")
            case Element(memory, place):
                return Printed(f"{memory}[{self.text(place)}]")
            case Apply(operator, operands):
                return self._applied(operator, [self.printed(one) for one in operands])
        raise TypeError(type(tree).__name__)

    @abstractmethod
    def constant(self, constant: Constant) -> Printed:
        """A number."""

    @abstractmethod
    def dtype(self, dtype: str) -> str:
        """The name of a type."""

    @abstractmethod
    def function(self, operator: Operator) -> str:
        """The name of a function."""

    def _applied(self, operator: Operator, operands: list[Printed]) -> Printed:
        if operator is Operator.SELECT:
            condition, chosen, otherwise = (one.within(_OR) for one in operands)
            return Printed(f"{condition} ? {chosen} : {otherwise}", _SELECT)
        if not operator.is_sign:
            arguments = ", ".join(one.text for one in operands)
            return Printed(f"{self.function(operator)}({arguments})")
        sign = operator.value.cpp.strip()
        if len(operands) == 1:
            return Printed(f"{sign}{operands[0].within(_SINGLE)}", _PREFIX)
        own, left, right = _BINDINGS[operator]
        return Printed(f"{operands[0].within(left)} {sign} {operands[1].within(right)}", own)


class _Readable(Printer):
    def constant(self, constant: Constant) -> Printed:
        negative = constant.value < 0
        return Printed(str(constant.value), _PREFIX if negative else _SINGLE)

    def dtype(self, dtype: str) -> str:
        return dtype

    def function(self, operator: Operator) -> str:
        return str(operator.value.name)


def readable(tree: Expression) -> str:
    return _Readable().text(tree)
