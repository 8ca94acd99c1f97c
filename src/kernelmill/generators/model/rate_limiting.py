"""The rate at which one endpoint is asked, and the delay before a retry."""

import random
import threading
import time
from collections.abc import Callable

from kernelmill.records.model_settings import Model, Patience


class RateLimiter:
    """Keeps to a model's requests per minute, and to the pauses that its endpoint asks for.

    May be used from several threads at once.
    """

    def __init__(self, model: Model, sleep: Callable[[float], None] = time.sleep) -> None:
        rate = model.requests_per_minute
        self._interval = 60.0 / rate if rate else 0.0
        self._next = 0.0
        """The time of the next permitted request, by the monotonic clock."""
        self._lock = threading.Lock()
        self._sleep = sleep

    def acquire(self) -> None:
        """Wait until one request may be sent."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)

    def suspend(self, seconds: float) -> None:
        """Let no request be sent before this time has passed."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


def retry_delay(patience: Patience, tries: int, retry_after: float | None) -> float | None:
    """Seconds to wait after so many tries; None where the endpoint asks for too many."""
    if retry_after is not None and retry_after > patience.longest_pause_seconds:
        return None
    backoff = patience.first_pause_seconds * 2.0 ** (tries - 1)
    jittered = min(backoff, patience.longest_pause_seconds) * random.uniform(0.5, 1.0)
    return max(jittered, retry_after or 0.0)
