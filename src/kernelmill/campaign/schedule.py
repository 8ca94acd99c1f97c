"""The order in which the tasks of a campaign get their attempts."""

from typing import NamedTuple

LEAD = 4
"""Attempts by which a task that a judge is ready for may be ahead of one that none is ready for:
to get ready costs as much as a few attempts."""


def most_at_once(wanted: int, ready_task_limit: int | None) -> int:
    """The number of tasks with an attempt under way.

    With more tasks than the judges stay ready for, they would have to get ready for every attempt.
    """
    return wanted if ready_task_limit is None else min(wanted, ready_task_limit)


class TaskProgress(NamedTuple):
    """The progress of one task, as far as the schedule depends on it."""

    begun: int
    """The number of attempts begun so far."""
    under_way: bool
    """An attempt is under way, and the next one must wait for it."""
    ready: bool
    """A judge is ready to measure it."""

    @property
    def turn(self) -> tuple[bool, bool, int]:
        """The sort key; the least begins next. Every task begins once, then the one furthest
        behind."""
        behind = self.begun if self.ready else self.begun + LEAD
        return self.under_way, self.begun > 0, behind
