"""Whose turn it is in a campaign."""

from typing import NamedTuple

LEAD = 4
"""Attempts by which a task that a judge is ready for may be ahead of one that none is: to get ready
costs as much as some attempts."""


def most_at_once(wanted: int, room: int | None) -> int:
    """Tasks that have an attempt under way: one more than the judges stay ready for, and they would
    have to get ready for every attempt."""
    return wanted if room is None else min(wanted, room)


class Progress(NamedTuple):
    """Of one task."""

    begun: int
    """Attempts."""
    under_way: bool
    """It has one now: the next must wait for it."""
    ready: bool
    """A judge could go on with it at once."""

    @property
    def turn(self) -> tuple[bool, bool, int]:
        """Whose is least begins next: all once, then whoever is furthest behind."""
        behind = self.begun if self.ready else self.begun + LEAD
        return self.under_way, self.begun > 0, behind
