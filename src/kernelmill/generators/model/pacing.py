"""How fast one endpoint is asked."""

import random
import threading
import time
from collections.abc import Callable

from kernelmill.generators.model.settings import Model, Patience


class Pace:
    """Of one model: so many questions a minute, and none while its endpoint wants to be left alone.

    May be used from several threads at once.
    """

    def __init__(self, model: Model, sleep: Callable[[float], None] = time.sleep) -> None:
        rate = model.requests_per_minute
        self._gap = 60.0 / rate if rate else 0.0
        self._next = 0.0
        self._lock = threading.Lock()
        self._sleep = sleep

    def wait(self) -> None:
        """Until it is this question's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            self._sleep(turn - now)

    def rest(self, seconds: float) -> None:
        """Nobody asks before this time has passed."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


def pause(patience: Patience, tries: int, asked: float | None) -> float | None:
    """How long to wait after so many tries; None: that would be too long."""
    if asked is not None and asked > patience.longest_pause_seconds:
        return None
    growing = patience.first_pause_seconds * 2.0 ** (tries - 1)
    drawn = min(growing, patience.longest_pause_seconds) * random.uniform(0.5, 1.0)
    return max(drawn, asked or 0.0)
