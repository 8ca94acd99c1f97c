"""The figures as tables for a terminal."""

from collections.abc import Sequence

from rich import box
from rich.markup import escape
from rich.table import Table

from kernelmill.judge import Evidence, Latency
from kernelmill.judge.verdict import CONFIDENCE
from kernelmill.report.summary import Summary, TaskSummary
from kernelmill.workspace import Totals

COLOURS = {"faster": "green", "even": "yellow", "slower": "red"}


def task_table(summary: Summary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("task", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    baseline = baseline_of(summary.latencies)
    names = ("attempts", "solved at", "kernel ms", f"over {baseline}", "over compile", "best")
    for name in names:
        table.add_column(name, no_wrap=True, justify="right")
    for task in summary.tasks:
        table.add_row(escape(task.name), *_cells(task))
    return table


def conclusion(summary: Summary) -> str:
    """What was reached, at what cost, and on what evidence."""
    totals, baseline = summary.totals, baseline_of(summary.latencies)
    lines = [
        f"{len(summary.solved)} of {len(summary.tasks)} tasks solved, {summary.faster} faster than "
        f"{baseline}, in {totals.done} attempts; cost {money(totals)}"
    ]
    if summary.over_eager is not None:
        lines.append(f"over {baseline}: {summary.over_eager}")
    if (compiled := summary.over_compile) is not None:
        lines.append(f"over torch.compile: {compiled} ({compiled.tasks} tasks)")
    lines += [
        f"set aside: {task.name}: {task.set_aside}" for task in summary.tasks if task.set_aside
    ]
    if (evidence := summary.evidence) is not None:
        lines.append(circumstances(evidence, summary.latencies))
    return "\n".join(lines)


def baseline_of(latencies: Sequence[Latency]) -> str:
    """What the ratios are to: one backend has one."""
    return next((latency.baseline for latency in latencies), "eager")


def circumstances(evidence: Evidence, latencies: Sequence[Latency]) -> str:
    """On what, with what, how sure."""
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


def _cells(task: TaskSummary) -> tuple[str, ...]:
    solved_at = "" if task.solved_at is None else str(task.solved_at)
    latency = task.latency
    if latency is None:
        state = "set aside" if task.set_aside else "unsolved"
        return (f"[red]{state}[/red]", str(task.attempts), solved_at, "", "", "", "")
    says = latency.over_eager.verdict
    return (
        f"[{COLOURS[says]}]{says}[/{COLOURS[says]}]",
        str(task.attempts),
        solved_at,
        f"{latency.candidate_ms:.3f}",
        escape(str(latency.over_eager)),
        escape(compile_cell(latency)),
        f"#{task.champion}",
    )


def compile_cell(latency: Latency) -> str:
    return "" if latency.over_compile is None else str(latency.over_compile)
