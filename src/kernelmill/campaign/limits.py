"""Limits of one run of a campaign: time, cost, and interrupts."""

import enum
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kernelmill.records.campaign import Totals


class Ending(enum.StrEnum):
    """Why a run of a campaign ended."""

    COMPLETE = "complete: every task has had its attempts"
    INTERRUPTED = "interrupted"
    OUT_OF_TIME = "stopped: the time limit is reached"
    OUT_OF_MONEY = "stopped: the cost limit is reached"
    PRICE_UNKNOWN = "stopped: the cost limit cannot be kept, the generator does not know its cost"
    NO_GENERATOR = "paused: the generator does not answer"


PAUSES = (15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds of the pauses while a generator does not answer, one after the other; then the last."""


class RunLimits:
    """The limits of one run; they decide whether another attempt may begin."""

    def __init__(
        self,
        max_usd: float | None = None,
        max_minutes: float | None = None,
        pauses: tuple[float, ...] = PAUSES,
    ) -> None:
        self.max_usd = max_usd
        self.pauses = pauses
        self._begun = time.monotonic()
        self._deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
        self._interrupts = 0
        self.on_interrupt: Callable[[], None] = lambda: None
        """Called at once when the run is interrupted, in the thread that runs it."""

    def interrupt(self) -> None:
        """Begin no further attempt; the second call raises KeyboardInterrupt."""
        self._interrupts += 1
        if self._interrupts == 1:
            self.on_interrupt()
        if self._interrupts > 1:
            raise KeyboardInterrupt

    @property
    def seconds_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def seconds_spent(self) -> float:
        return time.monotonic() - self._begun

    @property
    def interrupted(self) -> bool:
        return self._interrupts > 0

    def reached(self, totals: Totals, in_flight: int) -> Ending | None:
        """Why no attempt may begin while `in_flight` are under way; None where one may."""
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
        """Under a cost limit the first attempt runs alone, because its cost is not known yet."""
        return self.max_usd is not None and totals.dearest_usd is None and in_flight > 0


@contextmanager
def obeying_interrupts(limits: RunLimits) -> Iterator[None]:
    """Ctrl-C ends the run in order, a second one at once. Without effect outside of the main
    thread, where Python handles no signals."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        limits.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
