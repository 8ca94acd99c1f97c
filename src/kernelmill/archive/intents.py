"""Intents: ideas apart from their implementations, with predictions that outcomes correct."""

import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.records.verdict import MARGIN
from kernelmill.storage.sql import Queries
from kernelmill.workspace import Transaction
from kernelmill.workspace.database import clear_errors

_query = Queries(Path(__file__).parent / "queries")
MOST_TRIES = 5
"""Tries without a gain after which an intent is dropped."""
_PRIOR_TRIES = 2.0
"""Weight of what is predicted of an intent that was never tried."""
_PRIOR_DIFFICULTY = 0.25
_FAMILY_WEIGHT = 3.0
"""Weight of a try on a task of the same family, against one on any other."""


class IntentTry(msgspec.Struct, frozen=True):
    """One implementation of an intent."""

    attempt: int
    intent: str
    base: int
    """The attempt that the intent is to improve."""
    predicted: float
    difficulty: float
    gain: float | None
    """Logarithm of the speed-up over the base; None where it was refused."""

    @property
    def has_gained(self) -> bool:
        return self.gain is not None and self.gain > math.log1p(MARGIN)


class IntentForecast(NamedTuple):
    """What an intent is expected to bring."""

    gain: float
    """Logarithm of the speed-up, where the implementation is right."""
    difficulty: float
    """Probability that the implementation is refused."""
    tries: float
    """Weight of the tries that it rests on."""


class IntentLog:
    """Tries of intents, in the database of a workspace."""

    def __init__(self, database: Transaction) -> None:
        self._database = database

    def tries(self, campaign: int, task: int) -> list[IntentTry]:
        """All tries on a task, in order."""
        rows = self._all("intent_tries", campaign=campaign, task=task)
        return [msgspec.convert(dict(row), IntentTry) for row in rows]

    def forecast(self, intent: str, prior: float, backend: str, family: str) -> IntentForecast:
        """The prior prediction, corrected by every outcome of the intent on this backend."""
        tries, gained, passed, refused = _PRIOR_TRIES, prior * _PRIOR_TRIES, _PRIOR_TRIES, 0.0
        for row in self._all("intent_outcomes", intent=intent, backend=backend):
            weight = _FAMILY_WEIGHT if row["family"] == family else 1.0
            tries += weight * row["tries"]
            refused += weight * row["refused"]
            passed += weight * (row["tries"] - row["refused"])
            gained += weight * row["gained"]
        difficulty = (_PRIOR_DIFFICULTY * _PRIOR_TRIES + refused) / tries
        return IntentForecast(gained / passed, difficulty, tries - _PRIOR_TRIES)

    def speed(self, attempt: int) -> float | None:
        """The speed of a base as a multiple of the baseline's; None where it has none."""
        for row in self._all("speed", attempt=attempt):
            return None if row["ratio"] is None else float(row["ratio"])
        return None

    def add(self, made: IntentTry, campaign: int, task: int, backend: str, family: str) -> None:
        columns = msgspec.structs.asdict(made)
        with clear_errors():
            self._database.execute(
                _query("insert_intent_try"),
                {**columns, "campaign": campaign, "task": task, "backend": backend}
                | {"family": family},
            )

    def _all(self, name: str, /, **values: object) -> list[sqlite3.Row]:
        with clear_errors():
            return self._database.execute(_query(name), values).fetchall()


def tries_in_vain(tries: Sequence[IntentTry], intent: str, base: int) -> int:
    """Tries of an intent on a base since it last gained something."""
    count = 0
    for one in reversed(tries):
        if (one.intent, one.base) == (intent, base):
            if one.has_gained:
                break
            count += 1
    return count
