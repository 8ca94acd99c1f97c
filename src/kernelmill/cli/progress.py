"""What a campaign looks like while it runs: a live table, or lines where nobody looks."""

import time

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from kernelmill.campaign import Limits, Watcher
from kernelmill.workspace import Attempt, Campaign, CampaignTask, State, Totals

_COLOURS = {State.PASSED: "green", State.REFUSED: "yellow", State.DECLINED: "red"}
_FRAME_LINES = 6
"""What the table needs beside its rows."""


class PlainWatcher(Watcher):
    """One line an attempt."""

    def __init__(self, console: Console, campaign: Campaign, limits: Limits) -> None:
        self._console = console
        self._budget = campaign.settings.budget
        self._limits = limits

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        words = _outcome(attempt) + (", new best" if champion else "")
        place = f"{attempt.task_name} {attempt.number}/{self._budget}"
        self._say(f"{place}: {words} ({left(self._limits, totals)})")

    def set_aside(self, task: str, reason: str) -> None:
        self._say(f"{task}: set aside: {reason}")

    def stopping(self, in_flight: int) -> None:
        self._say(f"finishing {in_flight} attempts; nothing more begins")

    def _say(self, text: str) -> None:
        self._console.print(escape(text), highlight=False, soft_wrap=True)


class _Row(msgspec.Struct):
    doing: str = "waiting"
    last: str = ""
    best: str = ""
    attempts: int = 0
    touched: float = 0.0


class LiveWatcher(Watcher):
    """A table that follows the campaign; long ones show the tasks that moved last."""

    def __init__(
        self,
        console: Console,
        campaign: Campaign,
        tasks: list[CampaignTask],
        limits: Limits,
        live: Live,
    ) -> None:
        self._console = console
        self._budget = campaign.settings.budget
        self._limits = limits
        self._live = live
        self._rows = {task.name: _Row(doing=task.set_aside or "waiting") for task in tasks}
        self._footer = ""

    def working(self, task: str, what: str) -> None:
        self._rows[task].doing = what
        self._touch(task)

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        row = self._rows[attempt.task_name]
        colour = _COLOURS[attempt.state]
        row.doing, row.attempts = "waiting", attempt.number
        row.last = f"[{colour}]{escape(_outcome(attempt))}[/{colour}]"
        if champion:
            row.best = f"{attempt.ratio:.2f}x"
        self._footer = left(self._limits, totals)
        self._touch(attempt.task_name)

    def set_aside(self, task: str, reason: str) -> None:
        self._rows[task].doing = f"set aside: {escape(reason)}"
        self._touch(task)

    def stopping(self, in_flight: int) -> None:
        self._footer = f"finishing {in_flight} attempts; Ctrl-C again stops at once"
        self._live.update(self._table())

    def _touch(self, task: str) -> None:
        self._rows[task].touched = time.monotonic()
        self._live.update(self._table())

    def _table(self) -> Table:
        table = Table("task", "attempts", "best", "now", "last", caption=self._footer)
        room = max(1, self._console.height - _FRAME_LINES)
        latest = sorted(self._rows, key=lambda name: -self._rows[name].touched)[:room]
        for name, row in self._rows.items():
            if name in latest:
                attempts = f"{row.attempts}/{self._budget}"
                table.add_row(escape(name), attempts, row.best, row.doing, row.last)
        return table


def left(limits: Limits, totals: Totals) -> str:
    """Time and money: what is left where there is a limit, what was spent where there is none."""
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
