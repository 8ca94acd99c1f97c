"""Pauses of a campaign while its generator does not answer."""

import time
from collections.abc import Sequence


class Pause:
    """A pause that grows from one failure to the next, until there is an answer."""

    def __init__(self, lengths: Sequence[float]) -> None:
        """`lengths` in seconds, one after the other; the last one is repeated."""
        self._lengths = lengths
        self._begun = 0
        self._until = 0.0

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def begin(self) -> float:
        """Begin the next pause, and return its length."""
        length = self._lengths[min(self._begun, len(self._lengths) - 1)]
        self._begun += 1
        self._until = time.monotonic() + length
        return length

    def end(self) -> None:
        """There was an answer: the next pause is the first again."""
        self._begun, self._until = 0, 0.0
