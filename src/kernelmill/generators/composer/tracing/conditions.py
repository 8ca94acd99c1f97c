"""Conditions on sizes under which an exported program is the reference. Runs inside sandboxes."""

from collections.abc import Collection, Iterator
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils._sympy.functions import Max, Min

_LEAST = 2
"""Export takes every size for 2 at least, which no kernel relies on."""
_COMPARISONS = {
    sympy.Eq: "==", sympy.Ge: ">=", sympy.Gt: ">", sympy.Le: "<=", sympy.Lt: "<"
}  # fmt: skip


def read_conditions(
    program: ExportedProgram, symbols: Collection[str], printer: Any
) -> tuple[str, ...]:
    """As Python over the symbols. What the sizes of an exported tensor say is not among them."""
    found = [*_ranges(program), *_guards(program), *_attention(program)]
    known = {sympy.Symbol(name).name for name in symbols}
    return tuple(
        dict.fromkeys(
            f"{printer.doprint(one.lhs)} {_COMPARISONS[type(one)]} {printer.doprint(one.rhs)}"
            for one in found
            if {symbol.name for symbol in one.free_symbols} <= known
        )
    )


def _ranges(program: ExportedProgram) -> Iterator[Any]:
    for symbol, bounds in program.range_constraints.items():
        if not isinstance(symbol, sympy.Symbol):
            continue
        if bounds.lower.is_Integer and bounds.lower > _LEAST:
            yield sympy.Ge(symbol, bounds.lower)
        if bounds.upper.is_Integer and bounds.upper < 1 << 31:
            yield sympy.Le(symbol, bounds.upper)


def _guards(program: ExportedProgram) -> Iterator[Any]:
    """Divisibility, sizes that must agree, and sizes of which one must not exceed the other.

    Ranges tell the inequalities of one symbol. That two sizes differ is never needed, nor anything
    about products of sizes: export asks that of strides, to tell one element from several.
    """
    environment = _environment(program)
    for guard in environment.guards if environment is not None else ():
        one = environment.replace(guard.expr)
        if one.has(Max, Min):
            continue
        inequality = isinstance(one, sympy.Ge | sympy.Gt | sympy.Le | sympy.Lt)
        if isinstance(one, sympy.Eq) or (inequality and _compares_sizes(one)):
            yield one


def _compares_sizes(inequality: Any) -> bool:
    difference, symbols = inequality.lhs - inequality.rhs, inequality.free_symbols
    linear = difference.is_polynomial(*symbols)
    return len(symbols) > 1 and linear and sympy.total_degree(difference, *symbols) == 1


def _attention(program: ExportedProgram) -> Iterator[Any]:
    """What export leaves to the kernels of attention."""
    for node in program.graph.nodes:
        if node.target is not torch.ops.aten.scaled_dot_product_attention.default:
            continue
        query, key, value, *others = (argument.meta["val"].shape for argument in node.args[:4]
                                      if isinstance(argument, torch.fx.Node))  # fmt: skip
        pairs = [(key[-2], value[-2])]
        pairs += [pair for mask in others for pair in ((mask[-1], key[-2]), (mask[-2], query[-2]))]
        for one, other in pairs:
            equal = sympy.Eq(_expression(one), _expression(other))
            if _expression(one) != 1 and isinstance(equal, sympy.Eq):
                yield equal


def _expression(size: int | torch.SymInt) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _environment(program: ExportedProgram) -> Any:
    for node in program.graph.nodes:
        value = node.meta.get("val")
        for size in value.shape if isinstance(value, torch.Tensor) else ():
            if isinstance(size, torch.SymInt):
                return size.node.shape_env
    return None
