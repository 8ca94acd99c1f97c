"""Looking at a task file: shapes, operators, hidden variants. Runs inside cells only."""

import traceback
from typing import Any

import msgspec
import torch
from torch import nn

from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.families import family_of_signature
from kernelmill.tasks.module import FLAVOURS, Draw, TaskModule, UnusableTask
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tasks.task import Constants, Task, Variant, kinds
from kernelmill.tensors.torch_side import describe as describe_value

_SEED = 20_260_101
_HIDDEN_FRACTIONS = (0.37, 0.71)
_MOST_HIDDEN = 3


def probe(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a cell that describes one task."""
    torch.set_grad_enabled(False)
    request = channel.receive().body
    try:
        module = TaskModule(request["source"], request["scale"], request["device"])
        task = describe_task(module, request)
        channel.send({"task": msgspec.to_builtins(task)})
    except Exception as error:
        channel.send({"error": explain(error)})


def explain(error: BaseException) -> str:
    """One line about what a task's code did, with the line of the file where it did it."""
    if isinstance(error, UnusableTask):
        return str(error)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<task>"]
    where = f" (line {lines[-1]})" if lines else ""
    message = str(error).strip().partition("\n")[0][:300]
    return f"{type(error).__name__}: {message}{where}"


def describe_task(module: TaskModule, request: dict[str, Any]) -> Task:
    draw = module.draw({}, "plain", _SEED)
    with OperatorLog() as operators:
        value = draw.model(*draw.inputs)
    outputs: list[torch.Tensor] = []
    describe_value(value, outputs)
    if not outputs:
        raise UnusableTask("Model.forward returns no tensor")
    _check_behaviour(draw, outputs)
    family = request["family"] or family_of_signature(tuple(operators.names))
    return Task(
        id=request["id"],
        family=family,
        path=request["path"],
        source=module.source,
        scale=request["scale"],
        variants=(_variant(draw, {}, hidden=False), *_hidden_variants(module)),
        flavours=tuple(f for f in FLAVOURS if f == "plain" or _stays_finite(module, f)),
        outputs=kinds(outputs),
        state={name: kinds([tensor])[0] for name, tensor in draw.model.state_dict().items()},
        buffers=tuple(name for name, _ in draw.model.named_buffers()),
        signature=tuple(operators.names),
        flops=operators.flops,
    )


def _variant(draw: Draw, constants: Constants, hidden: bool) -> Variant:
    tensors: list[torch.Tensor] = []
    node = describe_value(draw.inputs, tensors)
    return Variant(constants, node, kinds(tensors), hidden)


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    describe_value(value, found)
    return found


def _check_behaviour(draw: Draw, outputs: list[torch.Tensor]) -> None:
    """A reference is a function: the same answer twice, and its inputs left alone."""
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


def _stays_finite(module: TaskModule, flavour: str) -> bool:
    try:
        draw = module.draw({}, flavour, _SEED)
        outputs = _tensors(draw.model(*draw.inputs))
    except Exception:  # the task's own code may raise anything on inputs it was not made for
        return False
    return all(bool(torch.isfinite(output).all()) for output in outputs)


def _hidden_variants(module: TaskModule) -> list[Variant]:
    declared = module.declared_hidden
    if declared is not None:
        return [_run_variant(module, constants) for constants in declared]
    found = []
    for constants in _guesses(module.free_constants()):
        try:
            found.append(_run_variant(module, constants))
        except Exception:  # the module does not allow this shape: not hidden, then
            continue
        if len(found) == _MOST_HIDDEN - 1:
            break
    return found


def _guesses(free: dict[str, int]) -> list[Constants]:
    """Smaller, odd sizes: all constants together first, then one at a time."""
    scaled: list[Constants] = [
        {name: max(1, int(value * fraction)) | 1 for name, value in free.items()}
        for fraction in _HIDDEN_FRACTIONS
    ]
    single: list[Constants] = [{name: guess[name]} for guess in scaled for name in guess]
    return [guess for guess in (*scaled, *single) if guess] if free else []


def _run_variant(module: TaskModule, constants: Constants) -> Variant:
    draw = module.draw(constants, "plain", _SEED)
    model: nn.Module = draw.model
    model(*draw.inputs)
    return _variant(draw, constants, hidden=True)
