"""Description of a task file: shapes, operators, hidden variants. Runs inside sandboxes only."""

import traceback
from typing import Any

import msgspec
import torch
from torch import nn

from kernelmill.records.task import Constants, Task, Variant, tensor_specs
from kernelmill.records.tensors import is_supported
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.families import family_of_signature
from kernelmill.tasks.module import DISTRIBUTIONS, Draw, TaskModule, UnusableTask
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tensors.torch_side import describe_value

_SEED = 20_260_101
_HIDDEN_FRACTIONS = (0.37, 0.71)
_MOST_HIDDEN = 3


def run_describer(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a sandbox that describes one task."""
    torch.set_grad_enabled(False)
    request = channel.receive().body
    try:
        module = TaskModule(request["source"], request["scale"], request["device"])
        task = describe_module(module, request)
        channel.send({"task": msgspec.to_builtins(task)})
    except Exception as error:
        channel.send({"error": explain_task_error(error)})


def explain_task_error(error: BaseException) -> str:
    """An exception of a task's code in one line, with the line number in the task file."""
    if isinstance(error, UnusableTask):
        return str(error)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<task>"]
    where = f" (line {lines[-1]})" if lines else ""
    message = str(error).strip().partition("\n")[0][:300]
    return f"{type(error).__name__}: {message}{where}"


def describe_module(module: TaskModule, request: dict[str, Any]) -> Task:
    draw = module.draw({}, "plain", _SEED)
    with OperatorLog() as operators:
        value = draw.model(*draw.inputs)
    outputs: list[torch.Tensor] = []
    describe_value(value, outputs)
    if not outputs:
        raise UnusableTask("Model.forward returns no tensor")
    _check_types([*outputs, *_tensors(draw.inputs), *draw.model.state_dict().values()])
    _check_behaviour(draw, outputs)
    family = request["family"] or family_of_signature(tuple(operators.names))
    return Task(
        id=request["id"],
        family=family,
        path=request["path"],
        source=module.source,
        scale=request["scale"],
        variants=(_variant(draw, {}, hidden=False), *_hidden_variants(module)),
        distributions=_distributions(module),
        outputs=tensor_specs(outputs),
        state={name: tensor_specs([tensor])[0] for name, tensor in draw.model.state_dict().items()},
        buffers=tuple(name for name, _ in draw.model.named_buffers()),
        signature=tuple(operators.names),
        flops=operators.flops,
    )


def _variant(draw: Draw, constants: Constants, hidden: bool) -> Variant:
    tensors: list[torch.Tensor] = []
    node = describe_value(draw.inputs, tensors)
    return Variant(constants, node, tensor_specs(tensors), hidden)


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    describe_value(value, found)
    return found


def _check_types(tensors: list[torch.Tensor]) -> None:
    """Raise UnusableTask for types of elements that the judge cannot compare."""
    for spec in tensor_specs(tensors):
        if not is_supported(spec.dtype):
            raise UnusableTask(f"tensors of type {spec.dtype} are not supported")


def _check_behaviour(draw: Draw, outputs: list[torch.Tensor]) -> None:
    """Raise UnusableTask where forward is not deterministic or changes its inputs."""
    before = [tensor.clone() for tensor in _tensors(draw.inputs)]
    torch.manual_seed(_SEED + 7)
    again = _tensors(draw.model(*draw.inputs))
    for tensor, copy in zip(_tensors(draw.inputs), before, strict=True):
        if not torch.equal(tensor, copy) and not tensor.isnan().any():
            raise UnusableTask("Model.forward changes its inputs")
    for first, second in zip(outputs, again, strict=True):
        if not torch.allclose(first, second, rtol=1e-4, atol=1e-6, equal_nan=True):
            raise UnusableTask(
                "Model.forward gives different results for the same inputs (dropout? randomness?)"
            )


def _distributions(module: TaskModule) -> tuple[str, ...]:
    return tuple(name for name in DISTRIBUTIONS if name == "plain" or _stays_finite(module, name))


def _stays_finite(module: TaskModule, distribution: str) -> bool:
    try:
        draw = module.draw({}, distribution, _SEED)
        outputs = _tensors(draw.model(*draw.inputs))
    except Exception:  # the task's own code may raise anything on inputs it was not made for
        return False
    return all(bool(torch.isfinite(output).all()) for output in outputs)


def _hidden_variants(module: TaskModule) -> list[Variant]:
    declared = module.declared_hidden
    if declared is not None:
        return [_run_variant(module, constants) for constants in declared]
    found = []
    for constants in _hidden_sizes(module.free_constants()):
        try:
            found.append(_run_variant(module, constants))
        except Exception:  # the task's own code may raise anything on sizes it does not allow
            continue
        if len(found) == _MOST_HIDDEN - 1:
            break
    return found


def _hidden_sizes(free: dict[str, int]) -> list[Constants]:
    """Smaller, odd sizes to try: all constants together first, then one at a time."""
    scaled: list[Constants] = [
        {name: max(1, int(value * fraction)) | 1 for name, value in free.items()}
        for fraction in _HIDDEN_FRACTIONS
    ]
    single: list[Constants] = [{name: sizes[name]} for sizes in scaled for name in sizes]
    return [*scaled, *single] if free else []


def _run_variant(module: TaskModule, constants: Constants) -> Variant:
    draw = module.draw(constants, "plain", _SEED)
    model: nn.Module = draw.model
    model(*draw.inputs)
    return _variant(draw, constants, hidden=True)
