"""Cost budgets that model calls are paid from."""

import threading
from abc import ABC, abstractmethod


class CostBudgetExceeded(Exception):
    """A model call may cost more than is left of the budget."""


class CostBudget(ABC):
    """Budget for model calls: reserve the most a call may cost, then commit its actual cost.

    Safe to use from several threads at once.
    """

    @abstractmethod
    def reserve(self, most_usd: float | None, closing: bool = False) -> int:
        """Reserve the most a call may cost, None where unknown; returns the reservation's id.

        A `closing` call completes work that was already paid for: it may use the part of the
        budget that is kept back for such calls. Raises CostBudgetExceeded.
        """

    @abstractmethod
    def commit(self, reservation: int, cost_usd: float | None) -> None:
        """Replace a reservation by the actual cost; None: unknown, the reserved sum is spent."""

    @abstractmethod
    def charge(self, cost_usd: float | None) -> None:
        """Add a cost that was not reserved before."""


class PreflightCostBudget(CostBudget):
    """Budget before there is a campaign; records what was spent, to charge it to the campaign."""

    def __init__(self, left_usd: float | None = None) -> None:
        self._left = left_usd
        self._lock = threading.Lock()
        self.spent: list[float | None] = []

    def reserve(self, most_usd: float | None, closing: bool = False) -> int:
        with self._lock:
            spent = sum(cost or 0.0 for cost in self.spent)
            if self._left is not None and spent + (most_usd or 0.0) > self._left:
                raise CostBudgetExceeded(
                    f"one question may cost {most_usd or 0.0:.4f} USD, and "
                    f"{max(0.0, self._left - spent):.4f} USD are left"
                )
            self.spent.append(most_usd)
            return len(self.spent) - 1

    def commit(self, reservation: int, cost_usd: float | None) -> None:
        with self._lock:
            self.spent[reservation] = cost_usd if cost_usd is not None else self.spent[reservation]

    def charge(self, cost_usd: float | None) -> None:
        with self._lock:
            self.spent.append(cost_usd)
