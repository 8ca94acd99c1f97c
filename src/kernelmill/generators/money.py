"""Who pays for answers."""

import threading
from abc import ABC, abstractmethod


class NoMoney(Exception):
    """What a question may cost is more than there is left."""


class Purse(ABC):
    """Every question is paid from here: the most it may cost before it is asked, the rest after.

    May be used from several threads at once.
    """

    @abstractmethod
    def hold(self, most_usd: float | None, closing: bool = False) -> int:
        """Put this much aside, None where nobody knows; raises NoMoney.

        What is asked to close a matter that was already paid for may take from the reserve.
        """

    @abstractmethod
    def settle(self, hold: int, cost_usd: float | None) -> None:
        """What it came to; None where nobody knows, and then all that was put aside is gone."""

    @abstractmethod
    def book(self, cost_usd: float | None) -> None:
        """What was spent before anybody could say no."""


class OpenPurse(Purse):
    """Without a bottom; remembers what went, for whoever pays in the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.spent: list[float | None] = []

    def hold(self, most_usd: float | None, closing: bool = False) -> int:
        with self._lock:
            self.spent.append(most_usd)
            return len(self.spent) - 1

    def settle(self, hold: int, cost_usd: float | None) -> None:
        with self._lock:
            self.spent[hold] = cost_usd if cost_usd is not None else self.spent[hold]

    def book(self, cost_usd: float | None) -> None:
        self.hold(cost_usd)
