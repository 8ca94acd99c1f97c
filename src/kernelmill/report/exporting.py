"""Reports as Markdown and CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernelmill.records.errors import UsageError
from kernelmill.records.verdict import Interval
from kernelmill.report.curves import THRESHOLDS, Curve
from kernelmill.report.spending import dollars
from kernelmill.report.summary import CampaignSummary, FamilySummary, TaskSummary
from kernelmill.report.tables import baseline_of, conclusion, minute

_FIELDS = (
    "task", "family", "inputs", "verdict", "attempts", "solved_at", "kernel_ms", "baseline_ms",
    "over_baseline", "over_baseline_low", "over_baseline_high", "over_compile", "over_compile_low",
    "over_compile_high", "speed_of_light", "judge_seconds", "cost_usd", "best_attempt", "reason",
)  # fmt: skip


def as_csv(summary: CampaignSummary) -> str:
    """One line per task; empty where nothing is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FIELDS)
    for task in summary.tasks:
        writer.writerow(_fields(task))
    return text.getvalue()


def _fields(task: TaskSummary) -> list[object]:
    latency, effort = task.latency, task.effort
    return [
        task.name,
        task.family,
        " ".join(task.inputs),
        task.outcome,
        task.attempts,
        task.solved_at,
        None if latency is None else latency.candidate_ms,
        None if latency is None else latency.baseline_ms,
        *_interval(None if latency is None else latency.over_baseline),
        *_interval(None if latency is None else latency.over_compile),
        task.speed_of_light,
        None if effort is None else round(effort.seconds, 3),
        None if effort is None else effort.cost_usd,
        task.champion,
        reason_of(task),
    ]


def _interval(ratio: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if ratio is None else (ratio.ratio, ratio.low, ratio.high)


def reason_of(task: TaskSummary) -> str:
    """Why a task is not solved; empty where it is."""
    if task.set_aside:
        return task.set_aside
    return task.failures[0].reason if task.failures else ""


def as_markdown(summary: CampaignSummary) -> str:
    settings, baseline = summary.campaign.settings, baseline_of(summary.latencies)
    lines = [
        f"# Campaign {summary.campaign.id}: {_cell(', '.join(settings.suites))}",
        "",
        f"Generator {_cell(settings.generator)}, strategy {_cell(settings.strategy)}, backend "
        f"{settings.backend}, {settings.budget} attempts per task, numerics {settings.numerics}, "
        f"seed {settings.seed}; begun {minute(summary.campaign.made_at)}.",
        "",
        *(f"- {_cell(line)}" for line in conclusion(summary).splitlines()),
        *_tails(summary, baseline),
        "",
        f"| task | family | verdict | attempts | kernel ms | over {baseline} | over torch.compile "
        "| cost | best | why |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---|",
        *(_markdown_row(task) for task in summary.tasks),
        "",
    ]
    if summary.latencies:
        shares = ((curve.name, *_shares(curve)) for curve in summary.fast_p)
        lines += _table(("fast_p", *(f"p = {p:g}" for p in THRESHOLDS)), shares)
    if summary.families:
        heads = ("family", "tasks", "solved", "faster", f"geomean over {baseline}", "median")
        lines += _table(heads, map(_family_cells, summary.families))
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Names in the first column, figures in the others."""
    return [
        f"| {' | '.join(heads)} |",
        f"|---{'|---:' * (len(heads) - 1)}|",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
        "",
    ]


def _shares(curve: Curve) -> Iterator[str]:
    """At each threshold, what the last step up to it has left."""
    for p in THRESHOLDS:
        yield f"{[point.y for point in curve.points if point.x <= p][-1]:.0%}"


def _family_cells(family: FamilySummary) -> tuple[object, ...]:
    ratios = family.over_baseline
    mean = "" if ratios is None else f"{ratios.geometric_mean:.2f}x"
    median = "" if ratios is None else f"{ratios.median:.2f}x"
    return (family.family, family.tasks, family.solved, family.faster, mean, median)


def _tails(summary: CampaignSummary, baseline: str) -> Iterator[str]:
    for name, ratios in ((baseline, summary.over_baseline), ("compile", summary.over_compile)):
        if ratios is not None:
            low, high = f"{ratios.low:.2f}x", f"{ratios.high:.2f}x"
            yield f"- tails over {name}: a tenth at most {low}, a tenth at least {high}"


def _markdown_row(task: TaskSummary) -> str:
    latency = task.latency
    cost = None if task.effort is None else task.effort.cost_usd
    cells = (
        task.name,
        task.family,
        task.outcome,
        str(task.attempts),
        "" if latency is None else f"{latency.candidate_ms:.3f}",
        "" if latency is None else str(latency.over_baseline),
        "" if latency is None or latency.over_compile is None else str(latency.over_compile),
        dollars(cost) if task.effort is not None else "",
        "" if task.champion is None else f"#{task.champion}",
        reason_of(task),
    )
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Text that neither ends a cell nor becomes markup."""
    line = " ".join(text.split())
    for special in "\\|<>`*_[]":
        line = line.replace(special, f"\\{special}")
    return line


def write_text(text: str, path: Path) -> None:
    """Raises UsageError where the file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
