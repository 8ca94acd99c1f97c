"""Output that `run`, `resume` and `report` share: progress, tables, and how to continue."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from kernelmill.api import RunResult
from kernelmill.campaign import Ending, Watcher
from kernelmill.cli.echo import no_control_echo
from kernelmill.cli.progress import INTERRUPTED, PAUSED, LiveWatcher, PlainWatcher, resume_line
from kernelmill.cli.terminal import print_prose
from kernelmill.report import CampaignSummary, conclusion, spending_table, task_table


@contextmanager
def watching(console: Console) -> Iterator[Watcher]:
    """A watcher that shows a live table in a terminal, and prints a line per attempt elsewhere."""
    if not console.is_terminal:
        yield PlainWatcher(console)
        return
    spinner = Spinner("dots", "checking tools and tasks")
    with no_control_echo() as echo, Live(spinner, console=console, transient=True) as live:
        yield LiveWatcher(console, live, echo)


def print_result(console: Console, result: RunResult) -> None:
    """Print what a run came to; the exit code says whether it was interrupted or paused."""
    print_summary(console, result.summary)
    console.print(f"report: {result.report}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"best kernels: {result.best}", highlight=False, markup=False, soft_wrap=True)
    for line in (str(result.ending), result.reason):
        if line:
            print_prose(console, line)
    if result.ending is not Ending.COMPLETE:
        line = resume_line(result.workspace, result.campaign)
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if result.ending is Ending.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if result.ending is Ending.NO_GENERATOR:
        raise typer.Exit(PAUSED)


def print_summary(console: Console, summary: CampaignSummary) -> None:
    console.print(task_table(summary, console.width))
    if summary.spending:
        console.print(spending_table(summary.spending, console.width))
    print_prose(console, conclusion(summary))
