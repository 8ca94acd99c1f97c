"""Functions of elements by the table that all targets share.

A rule there makes a value out of values. Here its operands stand for tensors, and what it makes is
a template over them.
"""

from typing import Any

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Node, Reference
from kernelmill.generators.composer.ir.values import Buffer, Literal, Map, Value, View
from kernelmill.generators.composer.lowering.pointwise import RULES
from kernelmill.generators.composer.lowering.registry import Lowering as Elementwise
from kernelmill.generators.composer.lowering.walk import rule_of
from kernelmill.generators.composer.targets.pallas.language import template_of
from kernelmill.generators.composer.targets.pallas.lowering.registry import (
    Lowering,
    cast,
    lowers,
    pointwise,
)
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Number,
    Tensor,
    same_sizes,
)


class _Operands(Elementwise):
    """The operands of one call, as values that shared rules take."""

    def __init__(self, lowering: Lowering) -> None:
        super().__init__(lowering.graph, lowering.plan)
        self._lowering = lowering
        self._tensors: dict[str, Tensor] = {}

    def value(self, argument: Any, dtype: str = "float32") -> Value:
        tensor = self._lowering.value(argument, dtype)
        name = f"operand_{len(self._tensors)}"
        self._tensors[name] = tensor
        own = tensor.dtype if isinstance(argument, Reference) else dtype
        return Buffer(name, tensor.shape, own)

    def tensor(self, value: Value) -> Tensor:
        """What a value is, in terms of the operands."""
        match value:
            case Buffer():
                return cast(self._tensors[value.name], value.dtype)
            case Literal():
                return Number(template_of(value.number, []), value.dtype, value.shape)
            case View():  # which broadcasts: nothing else in the table has a view
                return self.tensor(value.inputs[0])
            case Map():
                operands = [self.tensor(source) for source in value.inputs]
                template = template_of(value.function, [one.dtype for one in value.inputs])
                made = pointwise(template, *operands, dtype=value.dtype)
                return made if same_sizes(made.shape, value.shape) else Broadcast(made, value.shape)
        raise Declined(f"a {type(value).__name__.lower()} of elements")


@lowers(*(name for name in RULES if name not in Lowering.rules))
def _shared(lowering: Lowering, node: Node) -> Tensor | list[Tensor | None]:
    rule = rule_of(RULES, node)
    assert rule is not None
    operands = _Operands(lowering)
    made = rule(operands, node)
    if isinstance(made, Value):
        return operands.tensor(made)
    return [None if part is None else operands.tensor(part) for part in made]
