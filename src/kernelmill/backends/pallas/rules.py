"""Rules on what was traced, which no spelling in the source can hide from.

Used inside cells only.
"""

from typing import NamedTuple

from jax._src import core

from kernelmill.backends.pallas.rewriting import equations, kernels

_MOVING = frozenset(
    """broadcast_in_dim concatenate convert_element_type copy copy_p dynamic_slice
    dynamic_update_slice expand_dims full iota pad reshape rev slice split squeeze transpose
    stop_gradient bitcast_convert_type""".split()
)
"""What may stand between kernels: it moves data and computes nothing."""
_CALLS = frozenset("closed_call core_call custom_jvp_call custom_vjp_call jit pjit remat".split())
_INDEXING = frozenset("add clamp lt mul select_n sub".split())
"""On whole numbers of no dimension: where a slice begins."""
_MOST_STEPS = 8192


class Objection(NamedTuple):
    what: str
    instead: str


def object_to(closed: core.ClosedJaxpr) -> Objection | None:
    """What is wrong with a traced candidate."""
    for equation in equations(closed.jaxpr, inside_kernels=False):
        name = equation.primitive.name
        if name == "pallas_call" or name in _MOVING | _CALLS or _is_indexing(equation):
            continue
        what = f"forward computes {name} outside of a kernel"
        return Objection(what, "between kernels only reshape, transpose, pad, slice, concatenate")
    found = kernels(closed.jaxpr)
    if not found:
        return Objection("forward calls no kernel", "compute in a pl.pallas_call")
    for equation in found:
        if equation.params.get("interpret"):
            return Objection("a kernel asks to be interpreted", "leave interpret= out")
    if any(e.primitive.name == "while" for e in equations(closed.jaxpr, inside_kernels=True)):
        what = "a loop whose length is not known when it is traced: its cycles cannot be counted"
        return Objection(what, "loop to a Python number, and leave steps out with pl.when")
    if grid_steps(closed) > _MOST_STEPS:
        what = f"its grids have {grid_steps(closed)} steps together, {_MOST_STEPS} are allowed"
        return Objection(what, "larger blocks: a step should do some microseconds of work")
    return None


def grids(closed: core.ClosedJaxpr) -> dict[str, list[int]]:
    """Kernel -> the sizes of its grid."""
    found: dict[str, list[int]] = {}
    for number, equation in enumerate(kernels(closed.jaxpr)):
        name = str(equation.params.get("name") or "kernel")
        mapping = equation.params["grid_mapping"]
        found[name if name not in found else f"{name}_{number}"] = [int(n) for n in mapping.grid]
    return found


def grid_steps(closed: core.ClosedJaxpr) -> int:
    total = 0
    for sizes in grids(closed).values():
        steps = 1
        for size in sizes:
            steps *= size
        total += steps
    return total


def _is_indexing(equation: core.JaxprEqn) -> bool:
    values = [*equation.invars, *equation.outvars]
    scalars = all(v.aval.shape == () and v.aval.dtype.kind in "iub" for v in values)
    return equation.primitive.name in _INDEXING and scalars
