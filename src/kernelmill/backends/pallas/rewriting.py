"""Changes to traced functions: what an interpreter needs that a compiler does not, and back.

Used inside cells only.
"""

from collections.abc import Callable, Iterator
from typing import Any

from jax import lax
from jax._src import core
from jax._src.lax import lax as lax_internal

Equations = list[core.JaxprEqn]
_KERNEL = "pallas_call"


def equations(jaxpr: core.Jaxpr, inside_kernels: bool) -> Iterator[core.JaxprEqn]:
    """All of them, those of inner functions too."""
    for equation in jaxpr.eqns:
        yield equation
        if inside_kernels or equation.primitive.name != _KERNEL:
            for inner in core.jaxprs_in_params(equation.params):
                yield from equations(inner, inside_kernels)


def kernels(jaxpr: core.Jaxpr) -> list[core.JaxprEqn]:
    found = equations(jaxpr, inside_kernels=False)
    return [equation for equation in found if equation.primitive.name == _KERNEL]


def for_compiler(closed: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """Without what a kernel says of its own cost: nobody else is to believe it."""
    return _changed(closed, lambda equation: [_with(equation, cost_estimate=None)])


def for_interpreter(closed: core.ClosedJaxpr, interpret: Any) -> core.ClosedJaxpr:
    """Executed by the interpreter, its products as short as the matrix unit makes them."""

    def change(equation: core.JaxprEqn) -> Equations:
        inner = _changed_jaxpr(equation.params["jaxpr"], _rounded_product, "dot_general")
        return [_with(equation, interpret=interpret, jaxpr=inner)]

    return _changed(closed, change)


def _with(equation: core.JaxprEqn, **params: Any) -> core.JaxprEqn:
    return equation.replace(params={**equation.params, **params})


def _changed(
    closed: core.ClosedJaxpr, change: Callable[[core.JaxprEqn], Equations]
) -> core.ClosedJaxpr:
    return closed.replace(jaxpr=_changed_jaxpr(closed.jaxpr, change, _KERNEL))


def _changed_jaxpr(
    jaxpr: core.Jaxpr, change: Callable[[core.JaxprEqn], Equations], primitive: str
) -> core.Jaxpr:
    """With every equation of one primitive replaced, at any depth (but for its own)."""

    def walk(value: Any) -> Any:
        if isinstance(value, core.ClosedJaxpr):
            return value.replace(jaxpr=walk(value.jaxpr))
        if isinstance(value, core.Jaxpr):
            return _changed_jaxpr(value, change, primitive)
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(walk(item) for item in value)
        return value

    changed: Equations = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == primitive:
            changed += change(equation)
        else:
            params = {name: walk(value) for name, value in equation.params.items()}
            changed.append(equation.replace(params=params))
    return jaxpr.replace(eqns=changed)


def is_single_pass(equation: core.JaxprEqn) -> bool:
    """Whether a product of float32 takes but bfloat16 of its operands."""
    precision = equation.params["precision"]
    exact = precision is not None and all(p == lax.Precision.HIGHEST for p in precision)
    return not exact and any(var.aval.dtype == "float32" for var in equation.invars)


def _rounded_product(equation: core.JaxprEqn) -> Equations:
    """The interpreter multiplies in full: round the operands as the matrix unit does."""
    if not is_single_pass(equation):
        return [equation]
    rounded, operands = [], []
    for operand in equation.invars:
        short = core.Var(operand.aval)
        rounded.append(
            core.new_jaxpr_eqn(
                [operand],
                [short],
                lax_internal.reduce_precision_p,
                {"exponent_bits": 8, "mantissa_bits": 7},
                core.no_effects,
                equation.source_info,
            )
        )
        operands.append(short)
    return [*rounded, equation.replace(invars=operands)]
