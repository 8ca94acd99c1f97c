"""Sweeps of one task in one campaign, in the database of a workspace."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.archive.fitness import fitness_of, pooled_noise
from kernelmill.records.decisions import Decisions
from kernelmill.records.sweep import SweepSpace, TrialPlan
from kernelmill.storage.packing import decoded, packed, unpacked
from kernelmill.storage.sql import Queries
from kernelmill.sweeps.trials import SweepTrial
from kernelmill.workspace import Transaction
from kernelmill.workspace.database import clear_errors

_query = Queries(Path(__file__).parent / "queries")


class Sweep(NamedTuple):
    attempt: int
    """The attempt that brought the space; its own combination is that of the defaults."""
    island: int
    """Its island, where an archive keeps it."""
    space: SweepSpace


class SweepLog:
    """Reads and writes inside of the caller's transaction."""

    def __init__(self, database: Transaction, campaign: int, task: int) -> None:
        self._database = database
        self._key = {"campaign": campaign, "task": task}

    def open(self, sweep: Sweep) -> None:
        """Begin the sweep of a space."""
        self._run(
            "insert_sweep",
            **self._key,
            attempt=sweep.attempt,
            island=sweep.island,
            is_template=bool(sweep.space.files),
            space=packed(sweep.space),
        )

    def latest(self, is_template: bool) -> Sweep | None:
        """The latest sweep of a template, or of decisions; None where there was none."""
        for row in self._all("latest_sweep", **self._key, is_template=is_template):
            return Sweep(row["attempt"], row["island"], unpacked(row["space"], SweepSpace))
        return None

    def add(self, attempt: int, plan: TrialPlan) -> None:
        """Store a judged combination; its measurements are stored with the attempt."""
        columns = msgspec.structs.asdict(plan) | {"choices": _json(plan.choices)}
        self._run("insert_trial", attempt=attempt, **columns)

    def trials(self, sweep: int) -> list[SweepTrial]:
        """All trials of a sweep, in order."""
        return _trials(self._all("trials", sweep=sweep))

    def _run(self, name: str, /, **values: object) -> None:
        with clear_errors():
            self._database.execute(_query(name), values)

    def _all(self, name: str, /, **values: object) -> list[sqlite3.Row]:
        with clear_errors():
            return self._database.execute(_query(name), values).fetchall()


class TaskSweep(NamedTuple):
    """A sweep of a campaign with its trials."""

    task: int
    sweep: Sweep
    trials: list[SweepTrial]


def sweeps_of_campaign(database: Transaction, campaign: int) -> list[TaskSweep]:
    """All sweeps of a campaign, in order."""
    with clear_errors():
        rows = database.execute(_query("sweeps_of_campaign"), {"campaign": campaign}).fetchall()
        return [
            TaskSweep(
                row["task"],
                Sweep(row["attempt"], row["island"], unpacked(row["space"], SweepSpace)),
                _trials(database.execute(_query("trials"), {"sweep": row["attempt"]}).fetchall()),
            )
            for row in rows
        ]


def combination_of(database: Transaction, attempt: int) -> Decisions:
    """The combination that an attempt measured; empty where it was no trial of a sweep."""
    with clear_errors():
        for row in database.execute(_query("trial"), {"attempt": attempt}):
            return decoded(row["choices"], Decisions)
    return {}


def _trials(rows: Sequence[sqlite3.Row]) -> list[SweepTrial]:
    noise = pooled_noise([_speeds(row) for row in rows])
    return [_trial(row, noise) for row in rows]


def _trial(row: sqlite3.Row, noise: float) -> SweepTrial:
    speeds = _speeds(row)
    plan = TrialPlan(
        row["sweep"],
        decoded(row["choices"], Decisions),
        row["bar"],
        row["expected"],
        row["deviation"],
        row["chance"],
        bool(row["doubted"]),
        row["skipped"],
    )
    error = 0.0 if row["counted"] else noise
    return SweepTrial(row["attempt"], plan, fitness_of(speeds, error) if speeds else None)


def _speeds(row: sqlite3.Row) -> list[float]:
    """Its measured speeds; none where one of its measurements was a refusal."""
    ratios: list[float | None] = msgspec.json.decode(row["ratios"])
    speeds = [one for one in ratios if one is not None]
    return speeds if len(speeds) == len(ratios) else []


def _json(choices: Decisions) -> str:
    return msgspec.json.encode(choices).decode()
