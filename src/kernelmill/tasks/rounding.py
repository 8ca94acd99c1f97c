"""Tensors that a reference rounds under coarser numerics. Used inside sandboxes only."""

from typing import NamedTuple

from kernelmill.records.numerics import Numerics
from kernelmill.records.task import TensorSpec, tensor_specs
from kernelmill.tasks.arithmetic import arithmetic
from kernelmill.tasks.module import TaskModule, tensors_in

_SEED = 20_260_101
_ROUNDED = 2.0**-16
"""Relative distance from the results in float32 above which operands were rounded: TF32 has
eleven digits, and another order of a sum of floats changes less."""


class Rounding(NamedTuple):
    is_rounded: bool
    """Whether the numerics show in the results."""
    dtypes: tuple[str, ...]
    """Of the outputs: autocast may return halves."""

    def outputs(self, specs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        """These outputs, of the types that they have under the numerics."""
        pairs = zip(specs, self.dtypes, strict=True)
        return tuple(TensorSpec(dtype, spec.shape) for spec, dtype in pairs)


def measure_rounding(module: TaskModule, numerics: Numerics) -> Rounding:
    """Compare a call on the task's own inputs with one in IEEE arithmetic, the present one."""
    draw = module.draw({}, "plain", _SEED)
    exact = tensors_in(draw.model(*draw.inputs))
    with arithmetic(numerics, module.device.type, afterwards=Numerics.IEEE):
        outputs = tensors_in(draw.model(*draw.inputs))
    is_rounded = any(
        bool((one.double() - other.double()).norm() > _ROUNDED * other.double().norm())
        for one, other in zip(outputs, exact, strict=True)
        if other.is_floating_point()
    )
    return Rounding(is_rounded, tuple(spec.dtype for spec in tensor_specs(outputs)))
