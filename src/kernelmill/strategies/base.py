"""The contract of a strategy: a task's history in, a proposal out; then it sees what came of it."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from kernelmill.generators.base import Parent, Proposal, Stage
from kernelmill.memory.values import draft_reward, refine_reward
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Observation, Planned, State, Transaction

_SEED_BYTES = 7


class History(ABC):
    """What a campaign knows of one task as its next attempt is proposed."""

    backend: str
    seed: int
    """The proposal's: the same campaign gives the same attempt the same seed."""
    attempts: Sequence[Attempt]
    """The task's finished attempts in this campaign, in order."""
    database: Transaction
    """The workspace's, to read from."""

    @abstractmethod
    def parent(self, attempt: Attempt) -> Parent:
        """One of them with its source and verdict, to start from. Not for declined ones."""

    @abstractmethod
    def planned(self, attempt: Attempt) -> Planned | None:
        """What was allowed, planned and diagnosed for one of them; None where nothing was."""

    @property
    def best(self) -> Attempt | None:
        """The fastest that passed, measured against eager."""
        passed = [attempt for attempt in self.attempts if attempt.state == State.PASSED]
        return max(passed, key=lambda attempt: attempt.ratio or 0.0, default=None)

    @property
    def stage(self) -> Stage:
        return Stage.DRAFT if self.best is None else Stage.REFINE


class Strategy(ABC):
    """Decides what is asked for next, and learns from what came of it.

    Used from one thread. `propose` sees every earlier verdict of its own task, but other tasks may
    be a few attempts behind what was already proposed for them. The same history and memory give
    the same proposal: an attempt that was interrupted is proposed again. `observe` runs inside of
    the transaction that stores the attempt: what it writes there is kept or lost together with the
    attempt, and whatever it keeps in itself must be derivable from that.
    """

    name: ClassVar[str]

    @abstractmethod
    def propose(self, task: Task, history: History) -> Proposal:
        """The next attempt of a task."""

    @abstractmethod
    def observe(self, observation: Observation, transaction: Transaction) -> None:
        """What came of it. Must not end the transaction."""


def seed_of(campaign_seed: int, task: str, number: int) -> int:
    """A seed for one attempt that does not depend on the order of work."""
    text = f"{campaign_seed}\0{task}\0{number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES], "big")


def rewards(attempts: Sequence[Attempt]) -> list[float]:
    """How well each went, from -1 to 1, in the light of the best before it.

    A draft that passes gets 1. A refinement gets tanh(ln b - ln l), for its own latency l and the
    best before it b, both as shares of eager's. Whatever is refused gets -1.
    """
    best: float | None = None
    found = []
    for attempt in attempts:
        ratio = attempt.ratio if attempt.state == State.PASSED else None
        found.append(draft_reward(bool(ratio)) if best is None else refine_reward(ratio, best))
        if ratio:
            best = max(best or 0.0, ratio)
    return found
