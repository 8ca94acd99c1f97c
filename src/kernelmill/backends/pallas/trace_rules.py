"""Rules on traced functions, which hold however the source is spelled.

Used inside sandboxes only.
"""

import math

from jax._src import core

from kernelmill.backends.pallas.jaxpr_passes import equations, kernel_calls
from kernelmill.backends.pallas.protocol import Objection

_DATA_MOVEMENT = frozenset(
    """broadcast_in_dim concatenate convert_element_type copy copy_p dynamic_slice
    dynamic_update_slice expand_dims full iota pad reshape rev slice split squeeze transpose
    stop_gradient bitcast_convert_type""".split()
)
"""Primitives allowed between kernels: they move data and compute nothing."""
_CALLS = frozenset("closed_call core_call custom_jvp_call custom_vjp_call jit pjit remat".split())
_INDEXING = frozenset("add clamp lt mul select_n sub".split())
"""Allowed on integer scalars, for the start of a slice."""
_MAX_STEPS = 8192


def find_objection(closed: core.ClosedJaxpr) -> Objection | None:
    """The first rule that a traced candidate breaks."""
    for equation in equations(closed.jaxpr, inside_kernels=False):
        name = equation.primitive.name
        if name == "pallas_call" or name in _DATA_MOVEMENT | _CALLS or _is_indexing(equation):
            continue
        what = f"forward computes {name} outside of a kernel"
        return Objection(what, "between kernels only reshape, transpose, pad, slice, concatenate")
    calls = kernel_calls(closed.jaxpr)
    if not calls:
        return Objection("forward calls no kernel", "compute in a pl.pallas_call")
    for equation in calls:
        if equation.params.get("interpret"):
            return Objection("a kernel asks to be interpreted", "leave interpret= out")
    if any(e.primitive.name == "while" for e in equations(closed.jaxpr, inside_kernels=True)):
        what = "a loop whose length is not known at trace time: its cycles cannot be counted"
        return Objection(what, "loop to a Python number, and skip steps with pl.when")
    if grid_steps(closed) > _MAX_STEPS:
        what = f"its grids have {grid_steps(closed)} steps together, {_MAX_STEPS} are allowed"
        return Objection(what, "use larger blocks: a step should do some microseconds of work")
    return None


def grids(closed: core.ClosedJaxpr) -> dict[str, list[int]]:
    """Kernel -> sizes of its grid."""
    found: dict[str, list[int]] = {}
    for number, equation in enumerate(kernel_calls(closed.jaxpr)):
        name = str(equation.params.get("name") or "kernel")
        mapping = equation.params["grid_mapping"]
        found[name if name not in found else f"{name}_{number}"] = [int(n) for n in mapping.grid]
    return found


def grid_steps(closed: core.ClosedJaxpr) -> int:
    return sum(math.prod(sizes) for sizes in grids(closed).values())


def _is_indexing(equation: core.JaxprEqn) -> bool:
    values = [*equation.invars, *equation.outvars]
    scalars = all(v.aval.shape == () and v.aval.dtype.kind in "iub" for v in values)
    return equation.primitive.name in _INDEXING and scalars
