"""Elites and offspring of an archive, as they are stored."""

import enum

import msgspec
import numpy as np

from kernelmill.archive.behaviour import Cell
from kernelmill.archive.fitness import Fitness
from kernelmill.memory.embedding import Vectors


class Outcome(enum.StrEnum):
    """What came of an attempt in its archive."""

    BEST = "best"
    """The fastest of its task."""
    ELITE = "elite"
    """It owned its cell when it entered."""
    BEATEN = "beaten"
    """The owner of its cell was faster."""
    KNOWN = "known"
    """Its source, or nearly the same one, was there before."""
    FAILED = "failed"


class Elite(msgspec.Struct, frozen=True, eq=False):
    """A kernel that passed: the owner of a cell, or a contender for one."""

    attempt: int
    island: int
    cell: Cell
    fitness: Fitness
    vector: Vectors
    """Unit vector of its code."""
    children: int = 0

    def distance(self, other: "Elite") -> float:
        """Difference of behaviour and of code: 0 for equal kernels, 1 for unlike ones."""
        similarity = float(np.dot(self.vector, other.vector))
        return 0.5 * self.cell.distance(other.cell) + 0.5 * (1.0 - similarity)


class Offspring(msgspec.Struct, frozen=True):
    """How a judged attempt came about, and what came of it."""

    attempt: int
    number: int
    strategy: str
    operator: str
    island: int
    outcome: Outcome
    target: str = ""
    parent: int | None = None
    partner: int | None = None
    parent_cell: str | None = None
    cell: str | None = None
    """None where it failed."""
    speed: float | None = None
    progress: float = 0.0
    """Logarithm of its speed over the best before it; 0 where it was no faster."""
    gain: float | None = None
    """Logarithm of its speed over its parent's; None where one of the two failed."""
