"""Whom a campaign tells what happens."""

from kernelmill.workspace import Attempt, Totals


class Watcher:
    """Hears everything and does nothing; a subclass shows what it likes.

    `working` may be called from any thread, the others from the campaign's own.
    """

    def working(self, task: str, what: str) -> None:
        """Something begins on a task: `writing`, `judging`, `confirming`, `final measurement`."""

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        """An attempt is stored; `champion`: it is the best of its task now."""

    def set_aside(self, task: str, reason: str) -> None:
        """Nobody will work on this task any more."""

    def stopping(self, in_flight: int) -> None:
        """Nothing more begins; this many attempts are still finished."""
