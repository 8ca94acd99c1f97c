"""When to begin no further attempt: time, money, or the user's wish."""

import enum
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kernelmill.workspace import Totals


class Ending(enum.StrEnum):
    COMPLETE = "complete: every task has had its attempts"
    INTERRUPTED = "interrupted"
    OUT_OF_TIME = "the time is up"
    OUT_OF_MONEY = "the money is spent"
    PRICE_UNKNOWN = "stopped: the generator does not know its price, and --max-usd is a promise"


class Limits:
    """The hard limits of one run of a campaign."""

    def __init__(self, max_usd: float | None = None, max_minutes: float | None = None) -> None:
        self.max_usd = max_usd
        self._deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
        self._interrupts = 0

    def interrupt(self) -> None:
        """Begin nothing more; asked twice, stop at once."""
        self._interrupts += 1
        if self._interrupts > 1:
            raise KeyboardInterrupt

    @property
    def seconds_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def interrupted(self) -> bool:
        return self._interrupts > 0

    def reached(self, totals: Totals, in_flight: int) -> Ending | None:
        """Why nothing more may begin while `in_flight` attempts are under way; None: it may."""
        if self.interrupted:
            return Ending.INTERRUPTED
        if self.seconds_left == 0.0:
            return Ending.OUT_OF_TIME
        if self.max_usd is None:
            return None
        if totals.unpriced:
            return Ending.PRICE_UNKNOWN
        foreseen = (in_flight + 1) * (totals.dearest_usd or 0.0)
        if totals.known_usd >= self.max_usd or totals.known_usd + foreseen > self.max_usd:
            return Ending.OUT_OF_MONEY
        return None

    def must_learn_the_price(self, totals: Totals, in_flight: int) -> bool:
        """Under a limit of money nothing runs beside the first draft: its price is not known."""
        return self.max_usd is not None and totals.dearest_usd is None and in_flight > 0


@contextmanager
def obeying_interrupts(limits: Limits) -> Iterator[None]:
    """Ctrl-C ends the campaign in order; a second one ends it at once."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        limits.interrupt()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
