"""Curves: solved tasks and speedups over attempts, fast_p, means over seeds."""

import itertools
import math
import statistics
from collections.abc import Sequence

import msgspec

from kernelmill.records.attempt import AttemptOutcome, State
from kernelmill.records.campaign import Campaign, CampaignSettings
from kernelmill.workspace import Workspace

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)


class CurvePoint(msgspec.Struct, frozen=True):
    x: float
    y: float
    spread: float = 0.0
    """Standard error over seeds; 0 for a single campaign."""


class Curve(msgspec.Struct, frozen=True):
    name: str
    points: tuple[CurvePoint, ...]


def learning_curves(outcomes: Sequence[AttemptOutcome], tasks: int) -> tuple[Curve, Curve]:
    """Over the attempts per task: the share of solved tasks, and the geometric mean of the best
    speedup of every task, where an unsolved one counts as 1 (its reference is kept)."""
    most = max((outcome.number for outcome in outcomes), default=0)
    solved_at = [0] * (most + 1)
    gains = [0.0] * (most + 1)
    for _, group in itertools.groupby(outcomes, lambda outcome: outcome.task):
        best = None
        for outcome in group:
            if outcome.state is not State.PASSED:
                continue
            if best is None:
                solved_at[outcome.number] += 1
            ratio = outcome.ratio or 1.0
            if best is None or ratio > best:
                gains[outcome.number] += math.log(max(ratio, 1.0)) - math.log(max(best or 1.0, 1.0))
                best = ratio
    solved, gain = itertools.accumulate(solved_at), itertools.accumulate(gains)
    count = max(1, tasks)
    return (
        Curve("solved", tuple(CurvePoint(n, value / count) for n, value in enumerate(solved))),
        Curve(
            "speedup", tuple(CurvePoint(n, math.exp(value / count)) for n, value in enumerate(gain))
        ),
    )


def fast_p(ratios: Sequence[float], tasks: int) -> Curve:
    """The share of all tasks with a correct kernel that is faster than p times the baseline.

    A step at each ratio, up to the last threshold, so that every p has its exact share.
    """
    count, last = max(1, tasks), THRESHOLDS[-1]
    points = [CurvePoint(0.0, len(ratios) / count)]
    for left, ratio in enumerate(sorted(ratio for ratio in ratios if ratio < last), start=1):
        points += [CurvePoint(ratio, points[-1].y), CurvePoint(ratio, (len(ratios) - left) / count)]
    return Curve("fast_p", (*points, CurvePoint(last, points[-1].y)))


def mean_curve(name: str, curves: Sequence[Curve]) -> Curve:
    """The mean of curves with its standard error; a curve that is shorter keeps its last value."""
    most = max((len(curve.points) for curve in curves), default=0)
    points = []
    for index in range(most):
        values = [curve.points[min(index, len(curve.points) - 1)].y for curve in curves]
        spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        points.append(CurvePoint(float(index), statistics.fmean(values), spread))
    return Curve(name, tuple(points))


class LearningCurves(msgspec.Struct, frozen=True):
    solved: tuple[Curve, ...]
    speedup: tuple[Curve, ...]


def campaign_curves(workspace: Workspace, campaign: Campaign) -> LearningCurves:
    """The curves of a campaign, with those of campaigns that differ in the seed only, and of
    `best-of-n` on the same suites, backend and generator where there is one."""
    solved, speedup = [], []
    for name, group in comparable_campaigns(workspace, campaign).items():
        pairs = [
            learning_curves(workspace.outcomes(one), workspace.task_progress(one).tasks)
            for one in group
        ]
        label = name if len(group) == 1 else f"{name}, {len(group)} seeds"
        solved.append(mean_curve(label, [pair[0] for pair in pairs if pair[0].points]))
        speedup.append(mean_curve(label, [pair[1] for pair in pairs if pair[1].points]))
    return LearningCurves(tuple(solved), tuple(speedup))


_BASELINE = "best-of-n"


def _conditions(settings: CampaignSettings) -> tuple[object, ...]:
    """What campaigns must share to be compared."""
    return (
        settings.suites,
        settings.backend,
        settings.generator,
        settings.scale,
        settings.numerics,
    )


def comparable_campaigns(workspace: Workspace, campaign: Campaign) -> dict[str, list[Campaign]]:
    """Campaigns by strategy: that of the campaign first, then the baseline."""
    own = campaign.settings
    found: dict[str, list[Campaign]] = {own.strategy: []}
    for one in workspace.campaigns():
        other = one.settings
        same = _conditions(other) == _conditions(own)
        if same and other.strategy in (own.strategy, _BASELINE):
            is_own = other.strategy == own.strategy
            if not is_own or one.id == campaign.id or other.seed != own.seed:
                found.setdefault(other.strategy, []).append(one)
    return found
