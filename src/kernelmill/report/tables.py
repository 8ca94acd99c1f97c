"""The figures of a campaign as text and tables for a terminal."""

from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from kernelmill.records.campaign import Totals
from kernelmill.records.verdict import CONFIDENCE, Evidence, Interval, Latency
from kernelmill.report.summary import CampaignSummary, TaskSummary

COLOURS = {"faster": "green", "even": "yellow", "slower": "red", "degenerate": "magenta"}
WIDE = 120
_NARROW = 100
"""Below this width an interval goes to a line of its own."""
_LONGEST_HEADING = 12


def task_table(summary: CampaignSummary, width: int = WIDE) -> Table:
    """One row per task, for a console of this width."""
    table = verdict_table(width, ("solved at", "kernel ms"), baseline_of(summary.latencies))
    table.add_column("best", no_wrap=True, justify="right")
    for task in summary.tasks:
        table.add_row(escape(task.name), *_cells(task, width))
    return table


def verdict_table(width: int, columns: Sequence[str], baseline: str) -> Table:
    """A table of tasks with their verdicts, these columns, and the ratios."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("task", "verdict"):
        table.add_column(name, overflow="fold")
    for name in (*columns, f"over {heading(baseline)}", "over compile"):
        table.add_column(name.replace(" ", _separator(width), 1), no_wrap=True, justify="right")
    return table


def heading(baseline: str) -> str:
    """The name of a baseline as it fits above a column."""
    return baseline if len(baseline) <= _LONGEST_HEADING else "baseline"


def ratio_cell(ratio: Interval | None, width: int = WIDE) -> str:
    return "" if ratio is None else str(ratio).replace(" ", _separator(width), 1)


def coloured(outcome: str) -> str:
    """`faster`, `even`, `slower` or `degenerate` in its colour."""
    return f"[{COLOURS[outcome]}]{outcome}[/{COLOURS[outcome]}]"


def _separator(width: int) -> str:
    return "\n" if width < _NARROW else " "


def conclusion(summary: CampaignSummary) -> str:
    """Solved tasks, cost, speedups, and the machine they were measured on."""
    totals, baseline = summary.totals, baseline_of(summary.latencies)
    lines = [
        f"{len(summary.solved)} of {len(summary.tasks)} tasks solved, {summary.faster} faster than "
        f"{baseline}, in {totals.done} attempts; cost {money(totals)}"
    ]
    if summary.over_baseline is not None:
        lines.append(f"over {baseline}: {summary.over_baseline}")
    if (compiled := summary.over_compile) is not None:
        lines.append(f"over torch.compile: {compiled} ({compiled.tasks} tasks)")
    lines += [
        f"set aside: {task.name}: {task.set_aside}" for task in summary.tasks if task.set_aside
    ]
    if (evidence := summary.evidence) is not None:
        lines.append(circumstances(evidence, summary.latencies))
    return "\n".join(lines)


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
        state = "set aside" if task.set_aside else "unsolved"
        return (f"[red]{state}[/red]", solved_at, "", "", "", "")
    return (
        coloured(latency.over_baseline.verdict),
        solved_at,
        f"{latency.candidate_ms:.3f}",
        escape(ratio_cell(latency.over_baseline, width)),
        escape(ratio_cell(latency.over_compile, width)),
        f"#{task.champion}",
    )
