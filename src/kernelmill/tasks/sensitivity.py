"""Sensitivity of a task: whether its outputs depend on what they are computed from.

Used inside sandboxes only. A kernel that ignores a tensor on which nothing depends is as right as
one that does the work. Where the file's own inputs and parameters ask nothing, others are tried.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from kernelmill.tasks.distributions import REPAIRS
from kernelmill.tasks.module import OWN, perturb, tensors_in
from kernelmill.tasks.probing import Probe
from kernelmill.tensors.torch_side import describe_value, restore_value

_SEED = 20_260_303
_TOLERANCE = 8.0
"""Factor on the reference's own error, as in the budget of a candidate."""
_MOST_PARAMETERS = 24
"""Parameters measured one by one; the others are measured together."""


class Sensitivity(NamedTuple):
    """What the outputs do not depend on, beyond what a candidate's error may be."""

    idle: tuple[str, ...]
    """Names of inputs and parameters."""
    degenerate: str
    """Why a kernel can leave out the work; empty where it cannot."""
    repair: tuple[str, str] = OWN


class _Replaced(NamedTuple):
    """One input or parameter, and a way to run the model with another in its place."""

    name: str
    holds_work: bool
    """Whether much work may be spent on it: an input, or a parameter of several dimensions."""
    outputs: Callable[[], list[torch.Tensor]]


def measure_sensitivity(probe: Probe, distributions: tuple[str, ...]) -> Sensitivity:
    """Measure, and find a repair where the file's own inputs ask nothing."""
    own = _measured(probe, "plain")
    if not own.degenerate:
        return own
    for repair in REPAIRS:
        found = _measured(probe.repaired(repair), "plain")
        if not found.degenerate:
            return found._replace(repair=repair)
    if all(_measured(probe, name).degenerate for name in distributions[1:]):
        return own
    return own._replace(degenerate="")


def _measured(probe: Probe, distribution: str) -> Sensitivity:
    inputs, others = (probe.inputs(distribution, seed) for seed in (_SEED, _SEED + 1))
    try:
        outputs = probe.outputs(inputs)
        budgets = _budgets(outputs, probe.wide_outputs(inputs) or outputs)
        idle = [
            replaced
            for replaced in _replacements(probe, inputs, others)
            if not _differ(outputs, replaced.outputs(), budgets)
        ]
    except torch.OutOfMemoryError:  # says nothing about the code
        raise
    except RuntimeError as error:  # of the task's own code, on inputs it was not made for
        return Sensitivity((), f"forward raises {type(error).__name__}")
    names = tuple(replaced.name for replaced in idle)
    work = [replaced.name for replaced in idle if replaced.holds_work]
    shown = ", ".join(work[:4]) + (" and others" if len(work) > 4 else "")
    return Sensitivity(names, f"no output depends on {shown}" if work else "")


def _budgets(outputs: list[torch.Tensor], exact: list[torch.Tensor]) -> list[float]:
    """The error that a candidate may have in each output, as a root mean square."""
    budgets = []
    for output, wide in zip(outputs, exact, strict=True):
        if not output.is_floating_point():
            budgets.append(0.0)
            continue
        floor = 0.5 * torch.finfo(output.dtype).eps * _rms(wide)
        budgets.append(_TOLERANCE * max(_rms(output.double() - wide.double()), floor))
    return budgets


def _rms(values: torch.Tensor) -> float:
    finite = values.double()
    finite = finite[torch.isfinite(finite)]
    return math.sqrt(float(finite.square().mean())) if finite.numel() else 0.0


def _differ(before: list[torch.Tensor], after: list[torch.Tensor], budgets: list[float]) -> bool:
    return any(
        _rms(a.double() - b.double()) > budget
        for a, b, budget in zip(before, after, budgets, strict=True)
    )


def _replacements(probe: Probe, inputs: list[Any], others: list[Any]) -> Iterator[_Replaced]:
    """Every input and parameter, to be replaced by that of another draw, one at a time."""
    tensors: list[torch.Tensor] = []
    node = describe_value(inputs, tensors)
    for index, (mine, theirs) in enumerate(zip(tensors, tensors_in(others), strict=True)):
        changed = _changed(mine, theirs)
        if changed is not None:
            given = [*tensors[:index], changed, *tensors[index + 1 :]]
            call = partial(probe.outputs, restore_value(node, given))
            yield _Replaced(f"input {index}", True, call)
    named = list(probe.model.named_parameters())
    for name, parameter in named[:_MOST_PARAMETERS]:
        call = partial(_with_others, probe, inputs, {name})
        yield _Replaced(name, _holds_work(parameter), call)
    if rest := {name for name, _ in named[_MOST_PARAMETERS:]}:
        call = partial(_with_others, probe, inputs, rest)
        yield _Replaced(f"{len(rest)} further parameters", True, call)


def _changed(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor | None:
    """Another value of an input; None where the task draws the same ones every time."""
    if mine.shape == theirs.shape and not torch.equal(mine, theirs):
        return theirs
    constant = mine.is_floating_point() and mine.numel() and bool((mine == mine.view(-1)[0]).all())
    return mine + torch.rand_like(mine) if constant else None


def _holds_work(parameter: torch.Tensor) -> bool:
    return sum(size > 1 for size in parameter.shape) > 1


def _with_others(probe: Probe, inputs: list[Any], names: set[str]) -> list[torch.Tensor]:
    """Outputs with other values of some parameters: their own, perturbed once more."""
    chosen = {name: p for name, p in probe.model.named_parameters() if name in names}
    before = {name: parameter.detach().clone() for name, parameter in chosen.items()}
    with torch.no_grad():
        for parameter in chosen.values():
            perturb(parameter, torch.Generator(parameter.device).manual_seed(_SEED))
        found = probe.outputs(inputs)
        for name, parameter in chosen.items():
            parameter.copy_(before[name])
    return found
