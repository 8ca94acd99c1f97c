"""Expressions of sizes, read from the words in which a graph has them.

A traced graph is plain data, so its sizes are text: expressions that are Python as well as C++.
"""

import ast
from functools import lru_cache

from kernelmill.generators.composer.ir.expressions import (
    Cast,
    Constant,
    Expression,
    Variable,
    apply,
    both,
)
from kernelmill.generators.composer.ir.graph import Extent
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.syntax import parse_expression

_SIGNS: dict[type[ast.AST], Operator] = {
    ast.Add: Operator.ADD, ast.Sub: Operator.SUB, ast.Mult: Operator.MUL, ast.Div: Operator.DIV,
    ast.FloorDiv: Operator.DIV, ast.Mod: Operator.MOD, ast.Eq: Operator.EQ,
    ast.NotEq: Operator.NE, ast.Lt: Operator.LT, ast.LtE: Operator.LE, ast.Gt: Operator.GT,
    ast.GtE: Operator.GE,
}  # fmt: skip
_FUNCTIONS = {
    "floordiv": Operator.SIZE_DIV, "modulo": Operator.SIZE_MOD, "larger": Operator.SIZE_MAX,
    "smaller": Operator.SIZE_MIN, "sqrt": Operator.SIZE_SQRT, "pow": Operator.SIZE_POW,
}  # fmt: skip
_NUMBERS = {"inf": float("inf"), "nan": float("nan")}
_SPACES = ("std::", "km::")
"""Names that C++ has in a name space."""


@lru_cache(maxsize=1 << 14)
def read_size(text: str) -> Expression:
    """An expression of sizes, or a condition on them."""
    for space in _SPACES:
        text = text.replace(space, "")
    return _read(parse_expression(text))


def size(extent: Extent) -> Expression:
    return read_size(extent.code)


def extent(tree: Expression, value: int) -> Extent:
    return Extent(str(tree), value)


def _read(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=float() as value):
            return Constant(value, "float64")
        case ast.Constant(value=int() as value):
            return Constant(value)
        case ast.Name(id=name):
            return Constant(_NUMBERS[name], "float32") if name in _NUMBERS else Variable(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand)
            if isinstance(inner, Constant):
                return Constant(-inner.value, inner.dtype)
            return apply(Operator.NEG, inner)
        case ast.BinOp(left=left, op=sign, right=right):
            return apply(_SIGNS[type(sign)], _read(left), _read(right))
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return apply(_SIGNS[type(sign)], _read(left), _read(right))
        case ast.BoolOp(op=ast.And(), values=values):
            joined = both(*(_read(value) for value in values))
            assert joined is not None
            return joined
        case ast.Call(func=ast.Name(id="double"), args=[argument]):
            return Cast("float64", _read(argument))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return apply(_FUNCTIONS[name], *(_read(argument) for argument in arguments))
    raise ValueError(f"not an expression of sizes: {ast.unparse(node)}")
