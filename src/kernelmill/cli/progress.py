"""Progress of a campaign: a live table in a terminal, one line per attempt elsewhere."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table

from kernelmill.campaign import RunLimits, Watcher
from kernelmill.records.attempt import Attempt, State
from kernelmill.records.campaign import Campaign, CampaignTask, Totals

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
_COLOURS = {State.PASSED: "green", State.REFUSED: "yellow", State.DECLINED: "red"}
_FRAME_LINES = 6
"""Lines of the table besides its rows."""


class ConsoleWatcher(Watcher):
    """The lines that both kinds of output have in common."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._limits = RunLimits()
        self._budget = 0
        self._resume_line = ""

    def begun(
        self, workspace: Path, campaign: Campaign, tasks: Sequence[CampaignTask], limits: RunLimits
    ) -> None:
        self._limits = limits
        self._budget = campaign.settings.budget
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

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class PlainWatcher(ConsoleWatcher):
    """One line per attempt."""

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        outcome = _outcome(attempt) + (", new best" if champion else "")
        attempts = f"{attempt.task_name} {attempt.number}/{self._budget}"
        self._print(f"{attempts}: {outcome} ({remaining(self._limits, totals)})")

    def set_aside(self, task: str, reason: str) -> None:
        self._print(f"set aside: {task}: {reason}")

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

    def __init__(self, console: Console, live: Live) -> None:
        super().__init__(console)
        self._live = live
        self._rows: dict[str, _Row] = {}
        self._footer = ""

    def loading(self, loaded: int, tasks: int) -> None:
        self._live.update(Spinner("dots", f"loading tasks: {loaded} of {tasks}"))

    def begun(
        self, workspace: Path, campaign: Campaign, tasks: Sequence[CampaignTask], limits: RunLimits
    ) -> None:
        super().begun(workspace, campaign, tasks, limits)
        self._rows = {
            task.name: _Row("waiting" if task.set_aside is None else "set aside") for task in tasks
        }
        self._live.update(self._table())

    def working(self, task: str, activity: str) -> None:
        self._rows[task].activity = activity
        self._show_change(task)

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        row = self._rows[attempt.task_name]
        colour = _COLOURS[attempt.state]
        row.activity, row.attempts = "waiting", attempt.number
        row.last = f"[{colour}]{escape(_outcome(attempt))}[/{colour}]"
        if champion:
            row.best = f"{attempt.ratio:.2f}x"
        self._footer = remaining(self._limits, totals)
        self._show_change(attempt.task_name)

    def set_aside(self, task: str, reason: str) -> None:
        self._rows[task].activity = f"set aside: {escape(reason)}"
        self._show_change(task)

    def stopping(self, in_flight: int) -> None:
        self._footer = f"finishing {in_flight} attempts under way; Ctrl-C again stops at once"
        self._live.update(self._table())

    def aborted(self) -> None:
        self._live.stop()
        super().aborted()

    def _show_change(self, task: str) -> None:
        self._rows[task].changed = time.monotonic()
        self._live.update(self._table())

    def _table(self) -> Table:
        table = Table("task", "attempts", "best", "now", "last", caption=self._footer)
        most_rows = max(1, self._console.height - _FRAME_LINES)
        latest = sorted(self._rows, key=lambda name: -self._rows[name].changed)[:most_rows]
        for name, row in self._rows.items():
            if name in latest:
                attempts = f"{row.attempts}/{self._budget}"
                table.add_row(escape(name), attempts, row.best, row.activity, row.last)
        return table


def resume_line(workspace: Path, campaign: Campaign) -> str:
    return f"to continue: kernelmill resume {workspace} --campaign {campaign.id}"


def remaining(limits: RunLimits, totals: Totals) -> str:
    """Solved tasks, and time and cost: what is left under a limit, what was spent without one."""
    parts = [f"{totals.solved} solved"]
    if limits.seconds_left is not None:
        parts.append(f"{limits.seconds_left / 60:.1f} min left")
    if limits.max_usd is not None:
        parts.append(f"{max(0.0, limits.max_usd - totals.known_usd):.2f} USD left")
    elif totals.unpriced:
        parts.append("cost unknown")
    elif totals.known_usd:
        parts.append(f"{totals.known_usd:.2f} USD spent")
    return ", ".join(parts)


def _outcome(attempt: Attempt) -> str:
    if attempt.ratio is not None:
        return f"passed, {attempt.ratio:.2f}x the baseline"
    return f"{attempt.state}: {attempt.reason}"
