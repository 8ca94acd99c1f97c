"""The cost budget of a campaign: a hard limit, with a reserve to finish attempts under way."""

import threading

from kernelmill.records.cost_budget import CostBudget, CostBudgetExceeded
from kernelmill.workspace.expenses import Expenses

RESERVE = 0.05
"""The share of the limit that only attempts already under way may use."""


class CampaignCostBudget(CostBudget):
    """Records the upper bound of every call before it is made, so that even a killed process stays
    within the limit."""

    def __init__(self, expenses: Expenses, max_usd: float | None) -> None:
        self._expenses = expenses
        self._max_usd = max_usd
        self._reserved: set[int] = set()
        self._committed = threading.Condition()

    def reserve(self, most_usd: float | None, closing: bool = False) -> int:
        """As the base class says; waits while calls under way may still cost less than reserved."""
        limit = self._limit(closing)
        with self._committed:
            while (reservation := self._expenses.reserve(most_usd, limit)) is None:
                if not self._reserved:
                    raise CostBudgetExceeded(self._refusal(most_usd, limit))
                self._committed.wait()
            self._reserved.add(reservation)
        return reservation

    def commit(self, reservation: int, cost_usd: float | None) -> None:
        with self._committed:
            self._expenses.commit(reservation, cost_usd)
            self._reserved.discard(reservation)
            self._committed.notify_all()

    def charge(self, cost_usd: float | None) -> None:
        self._expenses.reserve(cost_usd, None)

    def _limit(self, closing: bool) -> float | None:
        if self._max_usd is None:
            return None
        return self._max_usd if closing else (1 - RESERVE) * self._max_usd

    def _refusal(self, most_usd: float | None, limit: float | None) -> str:
        left = max(0.0, (limit or 0.0) - self._expenses.spent_usd)
        return (
            f"the next call may cost {most_usd or 0.0:.4f} USD, and {left:.4f} USD are left "
            "apart from the reserve"
        )
