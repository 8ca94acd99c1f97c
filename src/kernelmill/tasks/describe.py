"""Description of a task file: shapes, operators, hidden variants. Runs inside sandboxes only."""

import math
import traceback
from typing import Any, NamedTuple

import msgspec
import torch
from torch import nn

from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Constants, Task, Variant, tensor_specs
from kernelmill.records.tensors import is_supported
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.arithmetic import arithmetic, set_arithmetic
from kernelmill.tasks.families import family_of_signature
from kernelmill.tasks.module import OWN, Draw, TaskModule, UnusableTask, tensors_in
from kernelmill.tasks.operators import OperatorLog
from kernelmill.tasks.probing import Probe
from kernelmill.tasks.promises import BrokenPromise, Promises, declared_promises, find_promises
from kernelmill.tasks.sensitivity import measure_sensitivity
from kernelmill.tasks.trying import choose_distributions
from kernelmill.tensors.torch_side import describe_value, restore_value

_SEED = 20_260_101
_HIDDEN_FRACTIONS = (0.37, 0.71)
_MOST_HIDDEN = 3
_PROMISE_SEEDS = (11, 12, 13)
_PROBE_ROWS = 2
_ROUNDED = 2.0**-16
"""Relative distance from the results in float32 above which operands were rounded: TF32 has
eleven digits, and another order of a sum of floats changes less."""
_ATTENTION = "scaled_dot_product"


def run_describer(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a sandbox that describes one task."""
    torch.set_grad_enabled(False)
    request = channel.receive().body
    try:
        set_arithmetic(Numerics.IEEE, request["device"])
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
    promises = _promises(module)
    draw = module.draw({}, "plain", _SEED)
    outputs, operators = _first_call(draw)
    _check_types([*outputs, *tensors_in(draw.inputs), *draw.model.state_dict().values()])
    _check_behaviour(draw, outputs)
    rounded = _call_with(Numerics(request["numerics"]), draw, outputs)
    variants = (_variant(draw, {}, hidden=False), *_hidden_variants(module))
    constants = _probe_constants(variants)
    probe = Probe(module, constants)
    promises = _signs(probe, promises)
    if any(promises):
        module.declare("PROMISES", promises)
    names = tuple(operators.names)
    multiplies = operators.flops > 0 or any(_ATTENTION in name for name in names)
    tried = choose_distributions(probe, names, multiplies)
    # On the shown sizes: what a long sum drowns there may matter in a short one.
    shown = Probe(module, {}) if constants else probe
    sensitivity = measure_sensitivity(shown, tried.distributions)
    repair = ""
    if sensitivity.repair != OWN:
        module.declare("REPAIR", sensitivity.repair)
        tried = choose_distributions(probe.repaired(sensitivity.repair), names, multiplies)
        repair = "{} inputs, {} parameters".format(*sensitivity.repair)
    return Task(
        id=request["id"],
        family=request["family"] or family_of_signature(names),
        path=request["path"],
        source=module.source,
        scale=request["scale"],
        variants=variants,
        distributions=tried.distributions,
        outputs=tensor_specs(rounded),
        state={name: tensor_specs([tensor])[0] for name, tensor in draw.model.state_dict().items()},
        buffers=tuple(name for name, _ in draw.model.named_buffers()),
        signature=names,
        flops=operators.flops,
        promises=promises,
        untried=tried.untried,
        idle=sensitivity.idle,
        repair=repair,
        degenerate=sensitivity.degenerate,
        is_rounded=_is_rounded(rounded, outputs),
    )


def _call_with(numerics: Numerics, draw: Draw, outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs under these numerics, given those in IEEE arithmetic."""
    if numerics is Numerics.IEEE:
        return outputs
    with arithmetic(numerics, outputs[0].device.type, afterwards=Numerics.IEEE):
        return tensors_in(draw.model(*draw.inputs))


def _is_rounded(outputs: list[torch.Tensor], ieee: list[torch.Tensor]) -> bool:
    """Whether the numerics show in the results."""
    return any(
        bool((one.double() - other.double()).norm() > _ROUNDED * other.double().norm())
        for one, other in zip(outputs, ieee, strict=True)
        if other.is_floating_point()
    )


class _FirstCall(NamedTuple):
    outputs: list[torch.Tensor]
    operators: OperatorLog


def _first_call(draw: Draw) -> _FirstCall:
    """Call the model; its inputs must be the same afterwards, or nothing could be compared."""
    before = [tensor.clone() for tensor in tensors_in(draw.inputs)]
    with OperatorLog() as operators:
        value = draw.model(*draw.inputs)
    outputs = tensors_in(value)
    if not outputs:
        raise UnusableTask("Model.forward returns no tensor")
    for number, (tensor, copy) in enumerate(zip(tensors_in(draw.inputs), before, strict=True)):
        if not _same(tensor, copy):
            raise UnusableTask(
                f"Model.forward changes its inputs (input {number}): it works in place"
            )
    return _FirstCall([output.clone() for output in outputs], operators)


def _same(tensor: torch.Tensor, copy: torch.Tensor) -> bool:
    if not tensor.is_floating_point():
        return torch.equal(tensor, copy)
    return torch.equal(tensor.nan_to_num(), copy.nan_to_num())


def _promises(module: TaskModule) -> tuple[Promises, ...]:
    """Structure of the inputs that is found, and that the file declares."""
    inputs = [module.inputs(seed) for seed in _PROMISE_SEEDS]
    found = find_promises([tensors_in(value) for value in inputs])
    if module.declared_domain is None:
        return found
    try:
        declared = [
            declared_promises(module.declared_domain, module.forward, value) for value in inputs
        ]
    except BrokenPromise as broken:
        raise UnusableTask(str(broken)) from broken
    return tuple(
        tuple(dict.fromkeys(words + more)) for words, more in zip(found, declared[0], strict=True)
    )


def _signs(probe: Probe, promises: tuple[Promises, ...]) -> tuple[Promises, ...]:
    """Add that a tensor is nonnegative where the reference is not finite with other signs, and that
    it is positive where the reference is not finite with zeros either."""
    tensors: list[torch.Tensor] = []
    node = describe_value(probe.inputs("plain", _SEED), tensors)

    def is_finite_with(index: int, tensor: torch.Tensor) -> bool:
        return probe.is_finite(
            restore_value(node, [*tensors[:index], tensor, *tensors[index + 1 :]])
        )

    found = []
    for index, (tensor, words) in enumerate(zip(tensors, promises, strict=True)):
        eligible = tensor.is_floating_point() and not words and tensor.numel()
        if eligible and bool((tensor >= 0).all()) and not is_finite_with(index, -tensor):
            needs_more = bool((tensor > 0).all()) and not is_finite_with(index, 0 * tensor)
            words = ("positive" if needs_more else "nonnegative",)
        found.append(words)
    return tuple(found)


def _probe_constants(variants: tuple[Variant, ...]) -> Constants:
    """The smallest variant with enough rows to tell apart: on it the task is examined."""
    fitting = [variant for variant in variants if _rows(variant) >= _PROBE_ROWS]
    return min(fitting or variants[:1], key=_elements).constants


def _rows(variant: Variant) -> int:
    """The shortest first dimension of its tensors that have several."""
    return min((spec.shape[0] for spec in variant.tensors if len(spec.shape) > 1), default=0)


def _elements(variant: Variant) -> int:
    return sum(math.prod(spec.shape) for spec in variant.tensors)


def _variant(draw: Draw, constants: Constants, hidden: bool) -> Variant:
    tensors: list[torch.Tensor] = []
    node = describe_value(draw.inputs, tensors)
    return Variant(constants, node, tensor_specs(tensors), hidden)


def _check_types(tensors: list[torch.Tensor]) -> None:
    """Raise UnusableTask for types of elements that the judge cannot compare."""
    for spec in tensor_specs(tensors):
        if not is_supported(spec.dtype):
            raise UnusableTask(f"tensors of type {spec.dtype} are not supported")


def _check_behaviour(draw: Draw, outputs: list[torch.Tensor]) -> None:
    """Raise UnusableTask where a second call gives other results, or nothing can be compared."""
    torch.manual_seed(_SEED + 7)
    again = tensors_in(draw.model(*draw.inputs))
    shapes = [tuple(output.shape) for output in outputs]
    if [tuple(output.shape) for output in again] != shapes:
        raise UnusableTask("Model.forward gives other shapes for the same inputs")
    for first, second in zip(outputs, again, strict=True):
        if not torch.allclose(first, second, rtol=1e-4, atol=1e-6, equal_nan=True):
            raise UnusableTask(
                "Model.forward gives different results for the same inputs (dropout? randomness?)"
            )
    if not any(bool(torch.isfinite(output).any()) for output in outputs):
        raise UnusableTask("Model.forward gives nothing that is finite on the task's own inputs")


def _hidden_variants(module: TaskModule) -> list[Variant]:
    declared = module.declared_hidden
    if declared is not None:
        found = [_run_variant(module, constants) for constants in declared]
        return [*found, *_single_row(module, declared)]
    found = []
    for constants in _hidden_sizes(module.free_constants()):
        try:
            found.append(_run_variant(module, constants))
        except Exception:  # the task's own code may raise anything on sizes it does not allow
            continue
        if len(found) == _MOST_HIDDEN - 1:
            break
    return found


def _single_row(module: TaskModule, declared: list[Constants]) -> list[Variant]:
    """One more variant, whose first size is 1, where the file has none like it and allows it."""
    names = [name for constants in declared for name in constants]
    if not names or any(1 in constants.values() for constants in declared):
        return []
    try:
        return [_run_variant(module, {names[0]: 1})]
    except Exception:  # the task's own code may raise anything on sizes it does not allow
        return []


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
