"""Passes over jaxprs that prepare them for the compiler or for the interpreter.

Used inside sandboxes only.
"""

from collections.abc import Callable, Iterator
from typing import Any

from jax import lax
from jax._src import core
from jax._src.lax import lax as lax_internal

Equations = list[core.JaxprEqn]
_KERNEL = "pallas_call"


def equations(jaxpr: core.Jaxpr, inside_kernels: bool) -> Iterator[core.JaxprEqn]:
    """All equations, including those of inner functions."""
    for equation in jaxpr.eqns:
        yield equation
        if inside_kernels or equation.primitive.name != _KERNEL:
            for inner in core.jaxprs_in_params(equation.params):
                yield from equations(inner, inside_kernels)


def kernel_calls(jaxpr: core.Jaxpr) -> list[core.JaxprEqn]:
    found = equations(jaxpr, inside_kernels=False)
    return [equation for equation in found if equation.primitive.name == _KERNEL]


def for_compiler(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """Drops the cost estimates that kernels declare, since the candidate wrote them."""
    return _replace_kernels(closed, lambda equation: [_with(equation, cost_estimate=None)])


def for_interpreter(closed: core.ClosedJaxpr, interpret: Any) -> core.ClosedJaxpr:
    """Has kernels interpreted, with products rounded as the matrix unit rounds them."""

    def replace(equation: core.JaxprEqn) -> Equations:
        inner = _replace_in(equation.params["jaxpr"], _rounded_product, "dot_general")
        return [_with(equation, interpret=interpret, jaxpr=inner)]

    return _replace_kernels(closed, replace)


def _with(equation: core.JaxprEqn, **params: Any) -> core.JaxprEqn:
    return equation.replace(params={**equation.params, **params})


def _replace_kernels(
    closed: core.ClosedJaxpr, replace: Callable[[core.JaxprEqn], Equations]
) -> core.ClosedJaxpr:
    return closed.replace(jaxpr=_replace_in(closed.jaxpr, replace, _KERNEL))


def _replace_in(
    jaxpr: core.Jaxpr, replace: Callable[[core.JaxprEqn], Equations], primitive: str
) -> core.Jaxpr:
    """Replaces every equation of one primitive, at any depth outside of such equations."""

    def walk(value: Any) -> Any:
        if isinstance(value, core.ClosedJaxpr):
            return value.replace(jaxpr=walk(value.jaxpr))
        if isinstance(value, core.Jaxpr):
            return _replace_in(value, replace, primitive)
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(walk(item) for item in value)
        return value

    changed: Equations = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == primitive:
            changed += replace(equation)
        else:
            params = {name: walk(value) for name, value in equation.params.items()}
            changed.append(equation.replace(params=params))
    return jaxpr.replace(eqns=changed)


def is_single_pass(equation: core.JaxprEqn) -> bool:
    """Whether the matrix unit rounds the float32 operands of a product to bfloat16."""
    precision = equation.params["precision"]
    exact = precision is not None and all(p == lax.Precision.HIGHEST for p in precision)
    return not exact and any(var.aval.dtype == "float32" for var in equation.invars)


def _rounded_product(equation: core.JaxprEqn) -> Equations:
    """Rounds the operands, because the interpreter multiplies in full precision."""
    if not is_single_pass(equation):
        return [equation]
    rounded, operands = [], []
    for operand in equation.invars:
        narrow = core.Var(operand.aval)
        rounded.append(
            core.new_jaxpr_eqn(
                [operand],
                [narrow],
                lax_internal.reduce_precision_p,
                {"exponent_bits": 8, "mantissa_bits": 7},
                core.no_effects,
                equation.source_info,
            )
        )
        operands.append(narrow)
    return [*rounded, equation.replace(invars=operands)]
