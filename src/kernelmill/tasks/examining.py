"""Examination of a task by its values: whether its reference is a function, and of what.

Used inside sandboxes only. Everything here computes with tensors of the module's own sizes.
"""

import math
from functools import partial
from typing import NamedTuple

import torch

from kernelmill.records.task import Constants, Variant, tensor_specs
from kernelmill.records.tensors import Node
from kernelmill.tasks.module import OWN, Draw, TaskModule, UnusableTask, tensors_in
from kernelmill.tasks.probing import Probe
from kernelmill.tasks.promises import BrokenPromise, Promises, declared_promises, find_promises
from kernelmill.tasks.sensitivity import Sensitivity, measure_sensitivity
from kernelmill.tasks.shapes import Shapes
from kernelmill.tasks.trying import Tried, choose_distributions
from kernelmill.tasks.variants import HiddenVariant, accepted_variants, hidden_sizes
from kernelmill.tensors.torch_side import describe_value, restore_value

_SEED = 20_260_101
_PROMISE_SEEDS = (11, 12, 13)
_PROBE_ROWS = 2
_ATTENTION = "scaled_dot_product"


class Examined(NamedTuple):
    """What is known of a task's values."""

    promises: tuple[Promises, ...]
    tried: Tried
    hidden: tuple[int, ...]
    """The hidden sizes that the reference accepts, by their numbers."""
    idle: tuple[str, ...] = ()
    degenerate: str = ""
    repair: tuple[str, str] = OWN

    def declare(self, module: TaskModule) -> None:
        """Have a module draw what trials use."""
        if any(self.promises):
            module.declare("PROMISES", self.promises)
        if self.repair != OWN:
            module.declare("REPAIR", self.repair)


def examine(module: TaskModule, shapes: Shapes) -> Examined:
    """Raises UnusableTask, or what the task's code raises."""
    promises = _promises(module)
    draw = module.draw({}, "plain", _SEED)
    _check_behaviour(draw, _first_outputs(draw))
    _check_numbers(draw, module.draw({}, "plain", _SEED + 1))
    hidden = accepted_variants(hidden_sizes(module), partial(_run_variant, module))
    constants = _probe_constants((shapes.variant, *(found.variant for found in hidden)))
    probe = Probe(module, constants)
    promises = _signs(probe, promises)
    if any(promises):
        module.declare("PROMISES", promises)
    multiplies = shapes.flops > 0 or any(_ATTENTION in name for name in shapes.operators)
    # What a long sum drowns on the shown sizes may matter in a short one.
    shown = Probe(module, {}) if constants else probe
    tried = choose_distributions(probe, shown, shapes.operators, multiplies)
    sensitivity = measure_sensitivity(shown, tried.distributions)
    if sensitivity.repair != OWN:
        module.declare("REPAIR", sensitivity.repair)
        repaired = probe.repaired(sensitivity.repair)
        shown = shown.repaired(sensitivity.repair)
        tried = choose_distributions(repaired, shown, shapes.operators, multiplies)
    return _examined(promises, tried, hidden, sensitivity)


def _examined(
    promises: tuple[Promises, ...],
    tried: Tried,
    hidden: list[HiddenVariant],
    sensitivity: Sensitivity,
) -> Examined:
    numbers = tuple(found.number for found in hidden)
    return Examined(
        promises, tried, numbers, sensitivity.idle, sensitivity.degenerate, sensitivity.repair
    )


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


def _first_outputs(draw: Draw) -> list[torch.Tensor]:
    """Call the model; its inputs must be the same afterwards, or nothing could be compared."""
    before = [tensor.clone() for tensor in tensors_in(draw.inputs)]
    outputs = tensors_in(draw.model(*draw.inputs))
    for number, (tensor, copy) in enumerate(zip(tensors_in(draw.inputs), before, strict=True)):
        if not _same(tensor, copy):
            raise UnusableTask(
                f"Model.forward changes its inputs (input {number}): it works in place"
            )
    return [output.clone() for output in outputs]


def _same(tensor: torch.Tensor, copy: torch.Tensor) -> bool:
    if not tensor.is_floating_point():
        return torch.equal(tensor, copy)
    return torch.equal(tensor.nan_to_num(), copy.nan_to_num())


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


def _check_numbers(draw: Draw, other: Draw) -> None:
    """Raise UnusableTask where a result that is no tensor depends on values: it would be compared
    digit by digit in trials, and not at all while the clock runs."""
    found = [_numbers(describe_value(one.model(*one.inputs), [])) for one in (draw, other)]
    if found[0] != found[1]:
        raise UnusableTask(
            "Model.forward returns a number that depends on its inputs: return it as a tensor"
        )


def _numbers(node: Node) -> list[object]:
    if node.items is not None:
        return [number for item in node.items for number in _numbers(item)]
    return [] if node.tensor is not None else [repr(node.scalar)]


def _run_variant(module: TaskModule, constants: Constants) -> Variant:
    draw = module.draw(constants, "plain", _SEED)
    draw.model(*draw.inputs)
    tensors: list[torch.Tensor] = []
    node = describe_value(draw.inputs, tensors)
    return Variant(constants, node, tensor_specs(tensors), hidden=True)


def _probe_constants(variants: tuple[Variant, ...]) -> Constants:
    """The smallest variant with enough rows to tell apart."""
    fitting = [variant for variant in variants if _rows(variant) >= _PROBE_ROWS]
    return min(fitting or variants[:1], key=_elements).constants


def _rows(variant: Variant) -> int:
    """The shortest first dimension of its tensors that have several."""
    return min((spec.shape[0] for spec in variant.tensors if len(spec.shape) > 1), default=0)


def _elements(variant: Variant) -> int:
    return sum(math.prod(spec.shape) for spec in variant.tensors)


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
