"""The contract of a generator: a proposal in, a candidate out."""

import enum
from abc import ABC, abstractmethod
from typing import ClassVar

import msgspec

from kernelmill.candidate import Candidate
from kernelmill.generators.calls import Call
from kernelmill.generators.decisions import Decisions
from kernelmill.generators.planning import Diagnosis, Guidance, Plan
from kernelmill.judge import Verdict
from kernelmill.tasks.task import Task


class Stage(enum.StrEnum):
    DRAFT = "draft"
    """No candidate of this task has passed the gates yet."""
    REFINE = "refine"


class Why(msgspec.Struct, frozen=True):
    """Why an item of the memory was chosen, as it stood then."""

    reason: str
    similarity: float | None = None
    value: float | None = None
    visits: int = 0
    explored: bool = False
    """By lot, not by its value."""


class Hint(msgspec.Struct, frozen=True):
    """One thing a generator is shown."""

    kind: str
    """`api`, `experience`, `trace`, `practice` or `skill`."""
    text: str
    item: int | None = None
    """Its number in the memory, where it comes from there."""
    decisions: Decisions = {}
    """What it speaks of; empty where it is only text."""
    outcome: float | None = None
    """How well that went, from -1 to 1; None where it was never tried."""
    why: Why | None = None


class Parent(msgspec.Struct, frozen=True):
    """The attempt a proposal starts from."""

    attempt: int
    candidate: Candidate
    verdict: Verdict
    decisions: Decisions


class Proposal(msgspec.Struct, frozen=True):
    """What a strategy asks for."""

    task: Task
    backend: str
    stage: Stage
    seed: int
    """A generator that draws lots draws the same ones for the same seed, and none for 0."""
    parent: Parent | None = None
    context: tuple[Hint, ...] = ()
    instruction: str = ""
    guidance: Guidance | None = None
    """Where the strategy goes by roles: one of its methods is planned before anything is written;
    what was refused is diagnosed before it is repaired."""


class Draft(msgspec.Struct, frozen=True):
    """What a generator answers."""

    candidate: Candidate
    decisions: Decisions = {}
    prediction: str = ""
    """What it expects to change, checked against the verdict afterwards."""
    plan: Plan | None = None
    diagnosis: Diagnosis | None = None
    calls: tuple[Call, ...] = ()


class Declined(Exception):
    """It cannot write this one; the message names what stands in the way."""

    def __init__(self, message: str, calls: tuple[Call, ...] = ()) -> None:
        super().__init__(message)
        self.calls = calls
        """What it cost all the same."""


class Generator(ABC):
    """Writes candidates. May be used from several threads at once; keeps nothing between calls.

    `write` raises `Declined` where it has no answer to this proposal, and `GeneratorUnavailable`
    where it has none to any.
    """

    name: ClassVar[str]
    computes: ClassVar[bool] = False
    """Whether writing takes a processor of this machine: then it waits while a clock runs."""

    @abstractmethod
    def write(self, proposal: Proposal) -> Draft:
        """One candidate for one proposal."""

    @abstractmethod
    def check(self, backend: str) -> None:
        """Raise GeneratorUnavailable before anything is spent, where it could not answer."""
