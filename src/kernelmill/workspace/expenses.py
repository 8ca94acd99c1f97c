"""The ledger of a campaign's model calls: reserved before a call, committed after it."""

from contextlib import closing
from pathlib import Path

from kernelmill.workspace.database import clear_errors, open_database
from kernelmill.workspace.sql import query


class Expenses:
    """The ledger of one campaign. Every entry opens the database, so any thread may write."""

    def __init__(self, folder: Path, campaign: int) -> None:
        self._folder = folder
        self._campaign = campaign

    def reserve(self, most_usd: float | None, limit_usd: float | None) -> int | None:
        """Add an entry and return its number; None where it would exceed the limit."""
        values = {"campaign": self._campaign, "most_usd": most_usd, "limit_usd": limit_usd}
        with closing(open_database(self._folder, create=False)) as database, clear_errors():
            row = database.execute(query("reserve_expense"), values).fetchone()
        return None if row is None else int(row["id"])

    def commit(self, expense: int, cost_usd: float | None) -> None:
        """Record the cost of a call; None where unknown, and then the reserved amount counts."""
        values = {"expense": expense, "cost_usd": cost_usd}
        with closing(open_database(self._folder, create=False)) as database, clear_errors():
            database.execute(query("commit_expense"), values)

    @property
    def spent_usd(self) -> float:
        """The sum of all costs, with the reserved amounts of calls under way."""
        with closing(open_database(self._folder, create=False)) as database, clear_errors():
            row = database.execute(query("spent"), {"campaign": self._campaign}).fetchone()
        return float(row[0])
