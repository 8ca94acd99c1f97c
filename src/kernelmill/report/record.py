"""The report of a campaign as one record for programs, with the figures that people are shown."""

import msgspec

from kernelmill.report.comparing import CampaignComparison
from kernelmill.report.curves import Curve
from kernelmill.report.summary import CampaignSummary, FamilySummary, Speedups
from kernelmill.report.tables import baseline_of


class Figures(msgspec.Struct, frozen=True):
    """What follows from the tasks of a report."""

    baseline: str
    solved: int
    faster: int
    """Champions that are faster than the baseline."""
    over_baseline: Speedups | None
    """None where nothing is solved."""
    over_compile: Speedups | None
    """None where nothing was measured against torch.compile."""
    fast_p: tuple[Curve, ...]
    families: tuple[FamilySummary, ...]
    verdicts: dict[str, str]
    """By task: `faster`, `even`, `slower`, `degenerate`, `correct` (not timed), `unsolved`,
    `set aside` or `not tried`."""
    speed_of_light: dict[str, float]
    """By task, where it is known: the latency floor as a share of the champion's latency."""


class CampaignReport(CampaignSummary, frozen=True, kw_only=True):
    figures: Figures
    comparison: CampaignComparison | None = None
    """With the campaign that was asked for."""


def report_record(
    summary: CampaignSummary, comparison: CampaignComparison | None = None
) -> CampaignReport:
    stored = {name: getattr(summary, name) for name in summary.__struct_fields__}
    return CampaignReport(**stored, figures=_figures(summary), comparison=comparison)


def _figures(summary: CampaignSummary) -> Figures:
    shares = {task.name: task.speed_of_light for task in summary.tasks}
    return Figures(
        baseline_of(summary.latencies),
        len(summary.solved),
        summary.faster,
        summary.over_baseline,
        summary.over_compile,
        summary.fast_p,
        tuple(summary.families),
        {task.name: task.outcome for task in summary.tasks},
        {name: share for name, share in shares.items() if share is not None},
    )
