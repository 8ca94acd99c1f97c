"""Comparison of two campaigns, task by task."""

import math
from collections.abc import Sequence

import msgspec
from rich.markup import escape
from rich.table import Table

from kernelmill.records.verdict import MARGIN
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.report.summary import CampaignSummary

_COLUMNS = (
    Column("task", flexible=True),
    Column("first", "right"),
    Column("second", "right"),
    Column("second\nover first", "right"),
)


class TaskComparison(msgspec.Struct, frozen=True):
    task: str
    first: float | None
    """Speedup over the baseline; None where the task is unsolved."""
    second: float | None

    @property
    def gain(self) -> float | None:
        return self.second / self.first if self.first and self.second else None


class CampaignComparison(msgspec.Struct, frozen=True):
    first: int
    second: int
    tasks: tuple[TaskComparison, ...]
    """Those that both campaigns have."""

    @property
    def gain(self) -> float | None:
        """Geometric mean over the tasks that both have solved."""
        gains = [task.gain for task in self.tasks if task.gain is not None]
        return math.exp(sum(map(math.log, gains)) / len(gains)) if gains else None

    def conclusion(self) -> str:
        gains = [task.gain for task in self.tasks if task.gain is not None]
        better = sum(gain > 1 + MARGIN for gain in gains)
        worse = sum(gain < 1 - MARGIN for gain in gains)
        only = [
            sum(bool(own(task)) and not other(task) for task in self.tasks)
            for own, other in ((_first, _second), (_second, _first))
        ]
        mean = "" if self.gain is None else f", geomean {self.gain:.2f}"
        return (
            f"campaign {self.second} over campaign {self.first}: {better} faster, {worse} slower "
            f"of {len(gains)} tasks that both solved{mean}; "
            f"solved by {self.first} only: {only[0]}, by {self.second} only: {only[1]}"
        )


def _first(task: TaskComparison) -> float | None:
    return task.first


def _second(task: TaskComparison) -> float | None:
    return task.second


def compare_campaigns(first: CampaignSummary, second: CampaignSummary) -> CampaignComparison:
    """Over what each has measured of its champions."""
    ratios = [_ratios(summary) for summary in (first, second)]
    common = [name for name in ratios[0] if name in ratios[1]]
    return CampaignComparison(
        first.campaign.id,
        second.campaign.id,
        tuple(TaskComparison(name, ratios[0][name], ratios[1][name]) for name in common),
    )


def _ratios(summary: CampaignSummary) -> dict[str, float | None]:
    return {
        task.name: None if task.latency is None else task.latency.over_baseline.ratio
        for task in summary.tasks
    }


def comparison_table(comparison: CampaignComparison, width: int) -> Table:
    rows: Sequence[Sequence[str]] = [
        (escape(task.task), *(_cell(one) for one in (task.first, task.second, task.gain)))
        for task in comparison.tasks
    ]
    return fitting_table(_COLUMNS, rows, width)


def _cell(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
