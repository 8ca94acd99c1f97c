"""The sweeps of a campaign: what was measured, what it brought, and how the surrogate did."""

import math

import msgspec

from kernelmill.records.campaign import Campaign
from kernelmill.sweeps.calibration import calibrate_surrogate
from kernelmill.sweeps.log import TaskSweep, sweeps_of_campaign
from kernelmill.sweeps.table import described
from kernelmill.sweeps.trials import fastest
from kernelmill.workspace import Workspace


class SweepLine(msgspec.Struct, frozen=True):
    """One sweep of a campaign."""

    task: str
    attempt: int
    """The attempt that brought the template, or the first whose decisions were swept."""
    is_template: bool
    combinations: int
    measured: int
    refused: int
    skipped: int
    """Combinations that were sure to lose when the last one was chosen."""
    gain: float | None
    """Speed of the best combination over that of the first; None where one of them is missing."""
    best: str
    """The choices of the best combination; empty where none passed."""


class SweepSummary(msgspec.Struct, frozen=True):
    sweeps: tuple[SweepLine, ...] = ()
    calibration: str = ""
    """How the forecasts of the surrogate came out; empty where it made none."""


def summarise_sweeps(workspace: Workspace, campaign: Campaign) -> SweepSummary:
    names = {one.task: one.name for one in workspace.tasks(campaign)}
    found = sweeps_of_campaign(workspace.database, campaign.id)
    calibration = calibrate_surrogate(trial for one in found for trial in one.trials)
    return SweepSummary(
        tuple(_line(names.get(one.task, ""), one) for one in found),
        "" if calibration is None else str(calibration),
    )


def _line(task: str, found: TaskSweep) -> SweepLine:
    trials, space = found.trials, found.sweep.space
    best, first = fastest(trials), trials[0].fitness if trials else None
    gain = None
    if best is not None and best.fitness is not None and first is not None:
        gain = math.exp(best.fitness.level - first.level)
    return SweepLine(
        task,
        found.sweep.attempt,
        bool(space.files),
        space.size,
        len(trials),
        sum(one.fitness is None for one in trials),
        trials[-1].plan.skipped if trials else 0,
        gain,
        "" if best is None else described(best.choices),
    )
