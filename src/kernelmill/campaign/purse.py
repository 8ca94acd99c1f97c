"""The money of a campaign: a hard limit, and a reserve to close what is under way."""

import threading

from kernelmill.generators.money import NoMoney, Purse
from kernelmill.workspace.expenses import Expenses

RESERVE = 0.05
"""The share of the money that no attempt is begun with: what is under way is finished with it."""


class CampaignPurse(Purse):
    """Books every question before it is asked, so that not even a kill spends more than allowed."""

    def __init__(self, expenses: Expenses, max_usd: float | None) -> None:
        self._expenses = expenses
        self._max_usd = max_usd
        self._held: set[int] = set()
        self._settled = threading.Condition()

    def hold(self, most_usd: float | None, closing: bool = False) -> int:
        """Waits for questions under way to leave something of what was put aside for them."""
        limit = self._limit(closing)
        with self._settled:
            while (hold := self._expenses.hold(most_usd, limit)) is None:
                if not self._held:
                    raise NoMoney(self._words(most_usd, limit))
                self._settled.wait()
            self._held.add(hold)
        return hold

    def settle(self, hold: int, cost_usd: float | None) -> None:
        with self._settled:
            self._expenses.settle(hold, cost_usd)
            self._held.discard(hold)
            self._settled.notify_all()

    def book(self, cost_usd: float | None) -> None:
        self._expenses.hold(cost_usd, None)

    def _limit(self, closing: bool) -> float | None:
        if self._max_usd is None:
            return None
        return self._max_usd if closing else (1 - RESERVE) * self._max_usd

    def _words(self, most_usd: float | None, limit: float | None) -> str:
        left = max(0.0, (limit or 0.0) - self._expenses.spent_usd)
        return (
            f"the next question may cost {most_usd or 0.0:.4f} USD, and {left:.4f} USD are left "
            "beside the reserve"
        )
