"""The book of what is spent on questions: written from any thread, before the money goes."""

from contextlib import closing
from pathlib import Path

from kernelmill.workspace.database import clear_errors, open_database
from kernelmill.workspace.sql import query


class Expenses:
    """Of one campaign. Opens the database anew for every entry, so any thread may write."""

    def __init__(self, folder: Path, campaign: int) -> None:
        self._folder = folder
        self._campaign = campaign

    def hold(self, most_usd: float | None, limit_usd: float | None) -> int | None:
        """The number of the entry; None where it would go over the limit."""
        values = {"campaign": self._campaign, "most_usd": most_usd, "limit_usd": limit_usd}
        with closing(open_database(self._folder, create=False)) as database, clear_errors():
            row = database.execute(query("hold"), values).fetchone()
        return None if row is None else int(row["id"])

    def settle(self, expense: int, cost_usd: float | None) -> None:
        """What it came to; None: unknown, and the most it may have been stays booked."""
        values = {"expense": expense, "cost_usd": cost_usd}
        with closing(open_database(self._folder, create=False)) as database, clear_errors():
            database.execute(query("settle"), values)

    @property
    def spent_usd(self) -> float:
        """With what is put aside for questions under way."""
        with closing(open_database(self._folder, create=False)) as database, clear_errors():
            row = database.execute(query("spent"), {"campaign": self._campaign}).fetchone()
        return float(row[0])
