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


class EarlyPurse(Purse):
    """Pays while there is no campaign yet; remembers what went, for the one who pays in the end."""

    def __init__(self, left_usd: float | None = None) -> None:
        self._left = left_usd
        self._lock = threading.Lock()
        self.spent: list[float | None] = []

    def hold(self, most_usd: float | None, closing: bool = False) -> int:
        with self._lock:
            spent = sum(cost or 0.0 for cost in self.spent)
            if self._left is not None and spent + (most_usd or 0.0) > self._left:
                raise NoMoney(
                    f"one question may cost {most_usd or 0.0:.4f} USD, and "
                    f"{max(0.0, self._left - spent):.4f} USD are left"
                )
            self.spent.append(most_usd)
            return len(self.spent) - 1

    def settle(self, hold: int, cost_usd: float | None) -> None:
        with self._lock:
            self.spent[hold] = cost_usd if cost_usd is not None else self.spent[hold]

    def book(self, cost_usd: float | None) -> None:
        with self._lock:
            self.spent.append(cost_usd)
