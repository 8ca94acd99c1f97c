"""Progress of a campaign: a live table in a terminal, one line per attempt elsewhere."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table

from kernelmill.campaign import RunLimits, Watcher
from kernelmill.cli.echo import ControlEcho
from kernelmill.cli.terminal import print_prose
from kernelmill.records.attempt import Attempt, State
from kernelmill.records.campaign import Campaign, CampaignTask, Totals
from kernelmill.report.fitting import Column, fitting_table

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
PAUSED = 3
"""The exit code of a run that ended because the generator does not answer."""
_COLOURS = {State.PASSED: "green", State.REFUSED: "yellow", State.DECLINED: "red"}
_FRAME_LINES = 6
"""Lines of the table besides its rows."""
_COLUMNS = (
    Column("task", flexible=True),
    Column("attempts", "right"),
    Column("best", "right"),
    Column("now", rank=1, flexible=True),
    Column("last", rank=2, flexible=True),
)


class ConsoleWatcher(Watcher):
    """The lines that both kinds of output have in common."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._limits = RunLimits()
        self._budget = 0
        self._attempts = 0
        """Attempts of all tasks together."""
        self._done_before: int | None = None
        """Attempts of earlier runs; None before the first of this run has ended."""
        self._resume_line = ""

    def begun(
        self, workspace: Path, campaign: Campaign, tasks: Sequence[CampaignTask], limits: RunLimits
    ) -> None:
        self._limits = limits
        self._budget = campaign.settings.budget
        self._attempts = self._budget * sum(task.set_aside is None for task in tasks)
        self._resume_line = resume_line(workspace, campaign)
        self._print(f"campaign {campaign.id} in {workspace}")
        for task in tasks:
            if task.set_aside is not None:
                self._print(f"set aside: {task.name}: {task.set_aside}")

    def aborted(self) -> None:
        """End the process at once: threads that still write or build have nothing to store."""
        self._print(f"stopped; {self._resume_line}")
        sys.stdout.flush()
        os._exit(INTERRUPTED)

    def _progress(self, totals: Totals) -> str:
        if self._done_before is None:
            self._done_before = totals.done - 1
        return remaining(self._limits, totals, self._attempts, self._done_before)

    def _print(self, text: str) -> None:
        print_prose(self._console, text)


class PlainWatcher(ConsoleWatcher):
    """One line per attempt."""

    def loading(self, loaded: int, tasks: int) -> None:
        if loaded == 0:
            self._print(f"loading {tasks} task{'s' if tasks > 1 else ''}")

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        outcome = _outcome(attempt) + (", new best" if champion else "")
        attempts = f"{attempt.task_name} {attempt.number}/{self._budget}"
        self._print(f"{attempts}: {outcome} ({self._progress(totals)})")

    def set_aside(self, task: str, reason: str) -> None:
        self._print(f"set aside: {task}: {reason}")

    def paused(self, reason: str, seconds: float) -> None:
        self._print(f"paused for {duration(seconds)}: {reason}")

    def interrupted(self) -> None:
        try:
            self._print("stopping: no further attempt begins; Ctrl-C again stops at once")
        except RuntimeError:
            pass  # the signal came in the middle of another line

    def stopping(self, in_flight: int) -> None:
        self._print(f"finishing {in_flight} attempts under way; no further attempt begins")


class _Row(msgspec.Struct):
    activity: str = "waiting"
    last: str = ""
    best: str = ""
    attempts: int = 0
    changed: float = 0.0


class LiveWatcher(ConsoleWatcher):
    """A live table of the tasks; where it does not fit, of those that changed last."""

    def __init__(self, console: Console, live: Live, echo: ControlEcho | None = None) -> None:
        super().__init__(console)
        self._live = live
        self._echo = echo
        self._rows: dict[str, _Row] = {}
        self._notice = ""
        """What is said instead of the progress: a pause, or that the run is stopping."""
        self._totals: Totals | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Drawn several times a second, so that the time that has passed is right."""
        yield self._table(options.max_width)

    def loading(self, loaded: int, tasks: int) -> None:
        self._live.update(Spinner("dots", f"loading tasks: {loaded} of {tasks}"))

    def begun(
        self, workspace: Path, campaign: Campaign, tasks: Sequence[CampaignTask], limits: RunLimits
    ) -> None:
        super().begun(workspace, campaign, tasks, limits)
        self._rows = {
            task.name: _Row("waiting" if task.set_aside is None else "set aside") for task in tasks
        }
        self._live.update(self)

    def working(self, task: str, activity: str) -> None:
        self._rows[task].activity = activity
        self._show_change(task)

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        row = self._rows[attempt.task_name]
        colour = _COLOURS[attempt.state]
        row.attempts = attempt.number
        row.activity = "waiting" if attempt.number < self._budget else "done"
        row.last = f"[{colour}]{escape(_outcome(attempt))}[/{colour}]"
        if champion:
            row.best = f"{attempt.ratio:.2f}x"
        self._totals, self._notice = totals, self._notice if self._limits.interrupted else ""
        self._show_change(attempt.task_name)

    def set_aside(self, task: str, reason: str) -> None:
        self._rows[task].activity = f"set aside: {escape(reason)}"
        self._show_change(task)

    def paused(self, reason: str, seconds: float) -> None:
        self._notice = f"paused for {duration(seconds)}: {reason}"

    def interrupted(self) -> None:
        """Only remembered: the table is drawn again by a thread, not inside of a signal handler."""
        self._notice = "stopping after the attempts under way; Ctrl-C again stops at once"

    def stopping(self, in_flight: int) -> None:
        self._notice = f"finishing {in_flight} attempts under way; Ctrl-C again stops at once"

    def aborted(self) -> None:
        self._live.stop()
        if self._echo is not None:
            self._echo.restore()
        super().aborted()

    def _show_change(self, task: str) -> None:
        self._rows[task].changed = time.monotonic()

    def _table(self, width: int) -> Table:
        most_rows = max(1, self._console.height - _FRAME_LINES)
        latest = sorted(self._rows, key=lambda name: -self._rows[name].changed)[:most_rows]
        rows = [
            (escape(name), f"{row.attempts}/{self._budget}", row.best, row.activity, row.last)
            for name, row in self._rows.items()
            if name in latest
        ]
        table = fitting_table(_COLUMNS, rows, width)
        table.caption, table.caption_justify = escape(self._footer()), "left"
        return table

    def _footer(self) -> str:
        if self._notice:
            return self._notice
        if self._totals is None:
            return f"{duration(self._limits.seconds_spent)} elapsed"
        return self._progress(self._totals)


def resume_line(workspace: Path, campaign: Campaign) -> str:
    return f"to continue: kernelmill resume {workspace} --campaign {campaign.id}"


def remaining(limits: RunLimits, totals: Totals, attempts: int = 0, done_before: int = 0) -> str:
    """Solved tasks, and time and cost: what has passed, and what is left.

    The time left is estimated from the attempts of this run, of which there are `attempts` with
    those of earlier runs.
    """
    parts = [f"{totals.solved} solved", f"{duration(limits.seconds_spent)} elapsed"]
    seconds = _seconds_left(limits, totals, attempts, done_before)
    if seconds is not None:
        parts.append(f"about {duration(seconds)} left")
    if limits.max_usd is not None:
        parts.append(f"{max(0.0, limits.max_usd - totals.known_usd):.2f} USD left")
    elif totals.unpriced:
        parts.append("cost unknown")
    elif totals.known_usd:
        parts.append(f"{totals.known_usd:.2f} USD spent")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """`45 s`, `12 min` or `3 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _seconds_left(
    limits: RunLimits, totals: Totals, attempts: int, done_before: int
) -> float | None:
    done = totals.done - done_before
    known = [] if limits.seconds_left is None else [limits.seconds_left]
    if done > 0 and attempts > totals.done:
        known.append(limits.seconds_spent / done * (attempts - totals.done))
    return min(known, default=None)


def _outcome(attempt: Attempt) -> str:
    if attempt.ratio is not None:
        return f"passed, {attempt.ratio:.2f}x the baseline"
    return f"{attempt.state}: {attempt.reason}" if attempt.reason else attempt.state
