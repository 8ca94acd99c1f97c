"""ATen operators by name, and the kernels that they become."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Graph, Node, Real, Size, Source
from kernelmill.generators.composer.lowering.walk import Walk, registering
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pypto.held import Held, Shape
from kernelmill.generators.composer.targets.pypto.writer import DTYPES, Writer

LACKING = {
    "convolution": "convolutions on this chip",
    "max_pool": "pooling windows", "avg_pool": "pooling windows",
    "adaptive": "pooling windows", "upsample": "interpolation",
    "cummax": "running maxima", "cummin": "running minima", "cumprod": "running products",
    "logcumsumexp": "running logarithms of sums",
    "sort": "a stable sort", "mode": "the most frequent element",
    "lgamma": "lgamma", "atan2": "atan2", "fft": "Fourier transforms",
}  # fmt: skip
"""Operators for which PyPTO has nothing on this chip, by how their names begin; in words."""


class Lowering(Walk[Held]):
    """Every node becomes a tensor that kernels have made."""

    rules: ClassVar[dict[str, Callable[..., Held | Sequence[Held | None]]]] = {}
    dtypes = DTYPES

    def __init__(self, graph: Graph, plan: Plan, names: dict[str, str]) -> None:
        """`names` are the variables of forward that hold sources."""
        self._names = names
        self.writer = Writer(int(plan.tile))
        super().__init__(graph, plan)

    def _source(self, source: Source) -> Held:
        kind = source.kind
        if source.origin == "constant" and len(source.values) == 1:
            return Held.of_number(number(source.values[0], kind.dtype), kind.dtype, kind.shape)
        return Held.stored(self._names[source.name], kind.shape, kind.dtype)

    def _number(self, argument: Any, dtype: str) -> Held:
        return Held.of_number(number(argument, dtype), dtype)

    def pointwise(
        self, label: str, code: str, operands: Sequence[Held], shape: Shape, dtype: str
    ) -> Held:
        return self.writer.pointwise(label, code, operands, shape, dtype)

    def same(self, label: str, code: str, *operands: Held) -> Held:
        """A function of elements with the shape and the type of its first operand."""
        first = operands[0]
        return self.pointwise(label, code, operands, first.shape, first.dtype)

    def operands(self, node: Node, *arguments: Any) -> list[Held]:
        """Arguments in the type of the node's tensors, or of its result."""
        dtype = node.results[0].dtype
        return [self.value(argument, "float32" if dtype == "bool" else dtype)
                for argument in arguments]  # fmt: skip


lowers = registering(Lowering.rules)


def number(value: Any, dtype: str) -> str:
    """A number as Python of a kernel; code of the host where it depends on sizes."""
    if isinstance(value, Size):
        return f"({host(value.extent.code)})"
    if isinstance(value, Real):
        code = value.code.replace("km::inf", 'float("inf")').replace("km::nan", 'float("nan")')
        return code if "float(" in code else f"({host(code)})"
    if dtype == "bool":
        return repr(bool(value))
    if "int" in dtype:
        return repr(int(value))
    real = float(value)
    if math.isfinite(real):
        return repr(real) if real >= 0 else f"({real!r})"
    return f'float("{real}")'
