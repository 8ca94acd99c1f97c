"""The archive of one task in one campaign, in the database of a workspace.

Cells have one owner per island, and an owner gives way only to a faster kernel of its own cell, or
when it fails or slows down in a later measurement. What failed is kept apart, among the offspring.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from kernelmill.archive.behaviour import Cell, behaviour_cell
from kernelmill.archive.elites import Elite, Offspring, Outcome
from kernelmill.archive.fitness import Fitness, fitness_of, measured_speed, pooled_noise
from kernelmill.memory.embedding import HashedWords, Vectors
from kernelmill.memory.rows import packed_vector, unpacked_vectors
from kernelmill.records.attempt import Observation
from kernelmill.records.candidate import Candidate
from kernelmill.records.search_step import SearchStep
from kernelmill.storage.sql import Queries
from kernelmill.workspace import Transaction
from kernelmill.workspace.database import clear_errors

_query = Queries(Path(__file__).parent / "queries")
_CODE = HashedWords()
_SAME_CODE = 0.999
"""Cosine of two codes above which the slower one opens no cell of its own."""
FIRST_PROGRESS = 0.5
"""Progress that the first kernel of a task counts as: there is no speed to compare it with."""
_CONTENDERS = 8
"""The fastest kernels, elites or not, that may turn out to be the best of a task or a cell."""


class Birth(NamedTuple):
    """A kernel that passed, at its place in the archive."""

    attempt: int
    number: int
    island: int
    cell: Cell
    vector: Vectors


class Newborn(NamedTuple):
    """A judged attempt that is to be taken into an archive."""

    attempt: int
    number: int
    step: SearchStep
    parent: int | None
    source: str
    """Digest of its files."""
    passed: bool
    birth: Birth | None
    """None where it failed, or where no speed means anything."""
    speed: float | None


class Archive:
    """Reads and writes inside of the caller's transaction."""

    def __init__(self, database: Transaction, campaign: int, task: int) -> None:
        self._database = database
        self._key = {"campaign": campaign, "task": task}

    # Reading

    def elites(self) -> list[Elite]:
        """The owners of all cells, by island and cell."""
        return self._measured(self._all("elites", **self._key))

    def contenders(self) -> list[Elite]:
        """The kernels that may be the fastest of the task, as measured so far."""
        rows = self._all("fastest", **self._key, most=_CONTENDERS)
        found = self._measured(rows, _noise_of(rows))
        return sorted(found, key=lambda one: (-one.fitness.level, one.attempt))

    def best(self) -> Elite | None:
        """The fastest kernel that was confirmed; the fastest of all where none was."""
        found = self.contenders()
        confirmed = [one for one in found if one.fitness.is_confirmed]
        return next(iter(confirmed or found), None)

    def recent(self, most: int) -> list[Offspring]:
        """The latest offspring of the task, the last one first."""
        return _offspring(self._all("recent_offspring", **self._key, most=most))

    def recent_elsewhere(self, most: int) -> list[Offspring]:
        """The latest offspring of other tasks of the campaign, the last one first."""
        return _offspring(self._all("recent_in_campaign", **self._key, most=most))

    # Writing

    def observe(self, observation: Observation, islands: int) -> Outcome | None:
        """Take in what an attempt and the measurements beside it show; None without a verdict."""
        attempt, result = observation.attempt, observation.result
        for again in result.remeasured:
            self.remeasured(again.attempt, attempt.number)
        verdict, draft, proposal = result.deciding, result.draft, result.proposal
        if verdict is None or draft is None or verdict.is_lost:
            return None
        step = proposal.step or SearchStep("")
        step = msgspec.structs.replace(step, island=step.island % max(1, islands))
        cell = behaviour_cell(proposal.task, draft.candidate, verdict)
        speed, birth = measured_speed(verdict), None
        if cell is not None and speed is not None:
            vector = code_vector(draft.candidate)
            birth = Birth(attempt.id, attempt.number, step.island, cell, vector)
        newborn = Newborn(
            attempt.id, attempt.number, step, attempt.parent, draft.candidate.digest,
            verdict.passed, birth, speed,
        )  # fmt: skip
        return self.take(newborn)

    def take(self, newborn: Newborn) -> Outcome:
        """Take in an attempt whose measurements are stored."""
        birth, step = newborn.birth, newborn.step
        leader = self.best()
        outcome = Outcome.BEATEN if newborn.passed else Outcome.FAILED
        if birth is not None:
            outcome = self._admit(birth, newborn.source, leader)
        self._run(
            "insert_offspring",
            **self._key,
            attempt=newborn.attempt,
            number=newborn.number,
            strategy=step.strategy,
            operator=step.operator,
            island=step.island,
            parent=newborn.parent,
            partner=step.partner,
            target=step.target,
            cell=None if birth is None else str(birth.cell),
            outcome=outcome,
            speed=None if birth is None else newborn.speed,
            gain=self._gain(newborn.parent, newborn.attempt),
            progress=self._progress(newborn.attempt, leader) if outcome is Outcome.BEST else 0.0,
            vector=None if birth is None else packed_vector(birth.vector),
        )
        return outcome

    def remeasured(self, attempt: int, number: int) -> None:
        """Elect the owners anew of the cells that an attempt belongs to, after a measurement."""
        self._run("set_speed", attempt=attempt)
        owned = [one for one in self.elites() if one.attempt == attempt]
        rows = self._all("fastest", **self._key, most=_CONTENDERS)
        places = {(one.island, one.cell) for one in owned}
        places |= {
            (row["island"], Cell.parse(row["cell"])) for row in rows if row["attempt"] == attempt
        }
        failed = None in self._ratios(attempt)
        for island, cell in sorted(places):
            owners = [one for one in owned if not failed and one.island == island]
            self._elect(island, cell, owners, number)

    def migrate(self, elite: Elite, island: int, number: int) -> bool:
        """Let the copy of an elite into an island, where it is faster than the cell's owner."""
        birth = Birth(elite.attempt, number, island, elite.cell, elite.vector)
        owner = _owner(birth, self.elites())
        if owner is not None and not elite.fitness.is_faster(owner.fitness):
            return False
        self._set_elite(birth)
        return True

    def _admit(self, birth: Birth, source: str, leader: Elite | None) -> Outcome:
        fitness, elites = self._fitness(birth.attempt), self.elites()
        if fitness is None:
            return Outcome.BEATEN
        known = self._all("known_source", **self._key, source=source, attempt=birth.attempt)
        if known[0]["attempt"] is not None or _has_twin(birth, fitness, elites):
            return Outcome.KNOWN
        owner = _owner(birth, elites)
        if owner is not None and not fitness.is_faster(owner.fitness):
            return Outcome.BEATEN
        self._set_elite(birth)
        fastest = leader is None or fitness.is_faster(leader.fitness)
        return Outcome.BEST if fastest else Outcome.ELITE

    def _elect(self, island: int, cell: Cell, owners: Sequence[Elite], number: int) -> None:
        place = {**self._key, "island": island, "cell": str(cell)}
        rows = self._all("fastest_of_cell", **place, most=_CONTENDERS)
        found = {one.attempt: one for one in (*self._measured(rows), *owners) if one.cell == cell}
        if not found:
            self._run("remove_elite", **place)
            return
        winner = max(
            found.values(),
            key=lambda one: (one.fitness.is_confirmed, one.fitness.level, -one.attempt),
        )
        self._set_elite(Birth(winner.attempt, number, island, cell, winner.vector))

    def _set_elite(self, birth: Birth) -> None:
        self._run(
            "set_elite",
            **self._key,
            island=birth.island,
            cell=str(birth.cell),
            attempt=birth.attempt,
            number=birth.number,
            vector=packed_vector(birth.vector),
        )

    def _fitness(self, attempt: int) -> Fitness | None:
        """None where it was never measured."""
        rows = self._all("measurements", attempt=attempt)
        speeds = [row["ratio"] for row in rows if row["ratio"] is not None]
        counted = any(row["counted"] for row in rows)
        return fitness_of(speeds, 0.0 if counted else self._noise()) if speeds else None

    def _gain(self, parent: int | None, child: int) -> float | None:
        if parent is None:
            return None
        before, after = self._fitness(parent), self._fitness(child)
        return None if before is None or after is None else after.level - before.level

    def _progress(self, attempt: int, leader: Elite | None) -> float:
        fitness = self._fitness(attempt)
        if leader is None or fitness is None:
            return FIRST_PROGRESS
        return fitness.level - leader.fitness.level

    def _noise(self) -> float:
        return _noise_of(self._all("fastest", **self._key, most=_CONTENDERS))

    def _ratios(self, attempt: int) -> list[float | None]:
        return [row["ratio"] for row in self._all("measurements", attempt=attempt)]

    def _measured(self, rows: Sequence[sqlite3.Row], noise: float | None = None) -> list[Elite]:
        noise = self._noise() if noise is None else noise
        return [
            Elite(
                row["attempt"],
                row["island"],
                Cell.parse(row["cell"]),
                fitness_of(_speeds(row), 0.0 if row["counted"] else noise),
                unpacked_vectors([row["vector"]], _CODE.dimensions)[0],
                row["children"],
            )
            for row in rows
            if _speeds(row)
        ]

    def _run(self, name: str, /, **values: object) -> None:
        with clear_errors():
            self._database.execute(_query(name), values)

    def _all(self, name: str, /, **values: object) -> list[sqlite3.Row]:
        with clear_errors():
            return self._database.execute(_query(name), values).fetchall()


def _owner(birth: Birth, elites: Sequence[Elite]) -> Elite | None:
    places = {(one.island, one.cell): one for one in elites}
    return places.get((birth.island, birth.cell))


def _has_twin(birth: Birth, fitness: Fitness, elites: Sequence[Elite]) -> bool:
    """Whether an elite of another cell of its island has nearly the same code and is faster."""
    return any(
        one.island == birth.island
        and one.cell != birth.cell
        and float(np.dot(one.vector, birth.vector)) > _SAME_CODE
        and not fitness.is_faster(one.fitness)
        for one in elites
    )


def code_vector(candidate: Candidate) -> Vectors:
    """Unit vector of a candidate's code."""
    text = "\n".join(candidate.files[name] for name in sorted(candidate.files))
    vector: Vectors = _CODE.embed([text])[0]
    return vector


def _noise_of(fastest: Sequence[sqlite3.Row]) -> float:
    return pooled_noise([_speeds(row) for row in fastest])


def _speeds(row: sqlite3.Row) -> list[float]:
    return [one for one in msgspec.json.decode(row["ratios"]) if one is not None]


def _offspring(rows: Sequence[sqlite3.Row]) -> list[Offspring]:
    return [msgspec.convert(dict(row), Offspring) for row in rows]
