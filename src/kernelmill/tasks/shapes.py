"""Shapes of a task: what calls of its reference take, give and do. Used inside sandboxes only.

Nothing of a task's size is allocated for them: see `fake_tensors.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import torch

from kernelmill.records.task import Constants, TensorSpec, Variant, tensor_specs
from kernelmill.records.tensors import is_supported
from kernelmill.tasks.fake_tensors import (
    FakeLargeTensors,
    RefuseLargeTensors,
    TooLarge,
    without_storage,
)
from kernelmill.tasks.fitting import OperationCounter
from kernelmill.tasks.module import Draw, TaskModule, UnusableTask, tensors_in
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tensors.torch_side import describe_value

_SEED = 20_260_101
_Result = TypeVar("_Result")


class Shapes(NamedTuple):
    """One call of a reference."""

    variant: Variant
    outputs: tuple[TensorSpec, ...]
    state: dict[str, TensorSpec]
    buffers: tuple[str, ...]
    operators: tuple[str, ...]
    flops: int
    operations: int
    """Upper estimate, with those of pointwise operators."""
    bytes: int
    """Of inputs, state and the operator with the largest tensors."""

    @property
    def structure(self) -> object:
        """What two tasks have in common that differ in sizes only."""
        return (
            self.operators,
            tuple(self.state),
            *([(spec.dtype, len(spec.shape)) for spec in specs]
              for specs in (self.variant.tensors, self.outputs)),
        )  # fmt: skip


def shapes_of(module: TaskModule) -> Shapes:
    """Of the shown sizes. Raises UnusableTask, or what the task's code raises."""
    return _without_storage(module, partial(_shapes, module))


def variant_of(module: TaskModule, constants: Constants) -> Variant:
    """A hidden variant, whose sizes the reference accepts."""
    return _without_storage(module, partial(_variant, module, constants))


def _without_storage(
    module: TaskModule, measure: Callable[[FakeLargeTensors | None], _Result]
) -> _Result:
    """Computed with values only where the code asks for them, or does not take fake tensors."""
    try:
        with without_storage() as fake:
            return measure(fake)
    except UnusableTask:
        raise
    except Exception:  # the task's own code may raise anything, if only for want of values
        return _with_values(module, measure)


def _with_values(
    module: TaskModule, measure: Callable[[FakeLargeTensors | None], _Result]
) -> _Result:
    if module.device.type != "cpu":
        return measure(None)
    try:
        with RefuseLargeTensors():
            return measure(None)
    except TooLarge as error:
        raise UnusableTask(str(error)) from error


def _drawn(module: TaskModule, fake: FakeLargeTensors | None) -> Draw:
    model, inputs = module.model(_SEED), module.inputs(_SEED + 1)
    if fake is not None:
        fake.forget_state(model)
    return Draw(model, inputs)


def _shapes(module: TaskModule, fake: FakeLargeTensors | None) -> Shapes:
    model, inputs = _drawn(module, fake)
    with OperationCounter() as counter, OperatorLog() as log:
        value = model(*inputs)
    outputs = tensors_in(value)
    if not outputs:
        raise UnusableTask("Model.forward returns no tensor")
    given: list[torch.Tensor] = []
    node = describe_value(inputs, given)
    state = model.state_dict()
    _check_types([*outputs, *given, *state.values()])
    return Shapes(
        variant=Variant({}, node, tensor_specs(given), hidden=False),
        outputs=tensor_specs(outputs),
        state={name: tensor_specs([tensor])[0] for name, tensor in state.items()},
        buffers=tuple(name for name, _ in model.named_buffers()),
        operators=tuple(log.names),
        flops=log.flops,
        operations=counter.operations,
        bytes=counter.most_bytes + sum(tensor.nbytes for tensor in (*given, *state.values())),
    )


def _variant(module: TaskModule, constants: Constants, fake: FakeLargeTensors | None) -> Variant:
    with module.sized(constants):
        model, inputs = _drawn(module, fake)
    model(*inputs)
    given: list[torch.Tensor] = []
    node = describe_value(inputs, given)
    return Variant(constants, node, tensor_specs(given), hidden=True)


def _check_types(tensors: list[torch.Tensor]) -> None:
    """Raise UnusableTask for types of elements that the judge cannot compare."""
    for spec in tensor_specs(tensors):
        if not is_supported(spec.dtype):
            raise UnusableTask(f"tensors of type {spec.dtype} are not supported")
