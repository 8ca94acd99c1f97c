"""The figures of a campaign as text and tables for a terminal."""

import datetime
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from kernelmill.records.campaign import Totals
from kernelmill.records.text import clean_line, counted
from kernelmill.records.verdict import CONFIDENCE, Evidence, Interval, Latency
from kernelmill.report.fitting import Column, fitting_table
from kernelmill.report.summary import CampaignSummary, TaskSummary

COLOURS = {
    "faster": "green", "even": "yellow", "slower": "red", "degenerate": "magenta",
    "correct": "green",
}  # fmt: skip
WIDE = 120
_NARROW = 100
"""Below this width an interval goes to a line of its own."""
_LONGEST_HEADING = 12
_MOST_REASON = 200


def task_table(summary: CampaignSummary, width: int = WIDE) -> Table:
    """One row per task, for a console of this width."""
    columns = verdict_columns(width, ("solved at", "kernel ms"), baseline_of(summary.latencies))
    columns.append(Column("best", "right", 2))
    rows = [(escape(task.name), *_cells(task, width)) for task in summary.tasks]
    return fitting_table(columns, rows, width)


def verdict_columns(width: int, columns: Sequence[str], baseline: str) -> list[Column]:
    """The columns of tasks with their verdicts, these columns, and the ratios."""
    separator = _separator(width)
    ratios = (f"over {heading(baseline)}", "over compile")
    return [
        Column("task", flexible=True),
        Column("verdict"),
        *(Column(name.replace(" ", separator, 1), "right", 3) for name in columns),
        Column(ratios[0].replace(" ", separator, 1), "right"),
        Column(ratios[1].replace(" ", separator, 1), "right", 1),
    ]


def heading(baseline: str) -> str:
    """The name of a baseline as it fits above a column."""
    return baseline if len(baseline) <= _LONGEST_HEADING else "baseline"


def ratio_cell(ratio: Interval | None, width: int = WIDE) -> str:
    return "" if ratio is None else str(ratio).replace(" ", _separator(width), 1)


def coloured(outcome: str) -> str:
    """`faster`, `even`, `slower`, `degenerate` or `correct` in its colour; else red."""
    colour = COLOURS.get(outcome, "red")
    return f"[{colour}]{outcome}[/{colour}]"


def _separator(width: int) -> str:
    return "\n" if width < _NARROW else " "


def conclusion(summary: CampaignSummary) -> str:
    """Solved tasks, cost, speedups, and the machine they were measured on."""
    totals, baseline = summary.totals, baseline_of(summary.latencies)
    lines = [
        f"{len(summary.solved)} of {counted(len(summary.tasks), 'task')} solved, {summary.faster} "
        f"faster than {baseline}, in {counted(totals.done, 'attempt')}; cost {money(totals)}"
    ]
    if summary.over_baseline is not None:
        lines.append(f"over {baseline}: {summary.over_baseline}")
    if (compiled := summary.over_compile) is not None:
        lines.append(f"over torch.compile: {compiled} ({compiled.tasks} tasks)")
    lines += [
        f"set aside: {task.name}: {task.set_aside}" for task in summary.tasks if task.set_aside
    ]
    lines += [
        f"unsolved: {task.name}: {_failure(task)}"
        for task in summary.tasks
        if task.champion is None and not task.set_aside and task.failures
    ]
    if (evidence := summary.evidence) is not None:
        lines.append(circumstances(evidence, summary.latencies))
    return "\n".join(lines)


def _failure(task: TaskSummary) -> str:
    first = task.failures[0]
    return (
        f"{clean_line(first.reason, _MOST_REASON)} ({first.attempts} of {task.attempts} attempts; "
        f"kernelmill show {first.example})"
    )


def baseline_of(latencies: Sequence[Latency]) -> str:
    """The name of the baseline, which is the same for all verdicts of a backend."""
    return next((latency.baseline for latency in latencies), "baseline")


def circumstances(evidence: Evidence, latencies: Sequence[Latency]) -> str:
    """The machine, the versions and the confidence behind the figures."""
    where, build = evidence.device or evidence.processor, evidence.versions["build"]
    if any(latency.counted for latency in latencies):
        return f"{where}; {build}, isolation {evidence.isolation}; {evidence.clock}"
    return (
        f"{where}, {evidence.threads} threads, torch {evidence.versions['torch']}, {build}, "
        f"isolation {evidence.isolation}; ratios with {CONFIDENCE:.0%} intervals"
    )


def minute(moment: str) -> str:
    """A stored moment as people read it."""
    try:
        at = datetime.datetime.fromisoformat(moment).astimezone(datetime.UTC)
    except ValueError:
        return moment
    return f"{at:%Y-%m-%d %H:%M} UTC"


def money(totals: Totals) -> str:
    known, unpriced = totals.known_usd, totals.unpriced
    if not unpriced:
        return f"{known:.2f} USD"
    priced = f"{known:.2f} USD and " if known else ""
    return f"{priced}unknown for {unpriced} attempts"


def _cells(task: TaskSummary, width: int) -> tuple[str, ...]:
    solved_at = f"{task.solved_at or '-'}/{task.attempts}"
    latency = task.latency
    if latency is None:
        return (coloured(task.outcome), solved_at, "", "", "", "")
    return (
        coloured(latency.over_baseline.verdict),
        solved_at,
        f"{latency.candidate_ms:.3f}",
        escape(ratio_cell(latency.over_baseline, width)),
        escape(ratio_cell(latency.over_compile, width)),
        f"#{task.champion}",
    )
