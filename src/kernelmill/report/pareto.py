"""Pareto fronts: the kernels of a task that nobody beats in speed and in a resource at once."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from kernelmill.records.attempt import AttemptResources
from kernelmill.records.campaign import Campaign
from kernelmill.records.verdict import MARGIN
from kernelmill.workspace import Workspace


class Cost(NamedTuple):
    """An attempt with its speed and what it takes of a resource."""

    attempt: AttemptResources
    amount: float


class Front(msgspec.Struct, frozen=True):
    """The front of one task in speed and one resource, the fastest kernel first."""

    task: str
    resource: str
    """`memory` or `energy`."""
    attempts: tuple[AttemptResources, ...]
    compared: int
    """Kernels that it was found among."""


def pareto_fronts(workspace: Workspace, campaign: Campaign) -> tuple[Front, ...]:
    """The fronts of all tasks on which there is a choice: of more than one kernel."""
    names = {one.task: one.name for one in workspace.tasks(campaign)}
    found = []
    rows = workspace.resources(campaign)
    for task, group in itertools.groupby(rows, lambda one: one.task):
        attempts = list(group)
        for resource, costs in (
            ("memory", [Cost(one, float(one.peak_bytes)) for one in attempts if one.peak_bytes]),
            ("energy", [Cost(one, one.energy_joules) for one in attempts if one.energy_joules]),
        ):
            front = pareto_front(costs)
            if len(front) > 1:
                found.append(Front(names.get(task, ""), resource, tuple(front), len(costs)))
    return tuple(found)


def pareto_front(costs: Iterable[Cost]) -> Sequence[AttemptResources]:
    """Kernels that take less, by more than MARGIN, than every faster one. The fastest first."""
    front: list[AttemptResources] = []
    least = float("inf")
    for one in sorted(costs, key=lambda one: (-one.attempt.speed, one.amount, one.attempt.attempt)):
        if one.amount < least * (1.0 - MARGIN):
            front.append(one.attempt)
            least = one.amount
    return front
