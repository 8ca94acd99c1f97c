"""The contract of a generator: a proposal in, a candidate out."""

import enum
from abc import ABC, abstractmethod
from typing import ClassVar

import msgspec

from kernelmill.candidate import Candidate
from kernelmill.errors import UsageError
from kernelmill.generators.calls import Call
from kernelmill.generators.decisions import Decisions
from kernelmill.generators.model.settings import ModelSettings
from kernelmill.generators.money import Purse
from kernelmill.generators.planning import Diagnosis, Guidance, Plan
from kernelmill.judge import Verdict
from kernelmill.tasks.task import Task

REFUSED = -1.0
"""The outcome of what was refused."""


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
    """How well that went, from REFUSED to 1; None where it was never tried.

    An attempt on the task itself is seen in the light of the parent, where that one passed.
    """
    level_of: str = ""
    """The other task whose speed over its baseline the outcome is; empty where it is a change's
    effect, or a refusal."""
    cases: int = 1
    """On how many it rests."""
    why: Why | None = None


class Parent(msgspec.Struct, frozen=True):
    """The attempt a proposal starts from."""

    attempt: int
    candidate: Candidate
    verdict: Verdict
    decisions: Decisions


class Standing(msgspec.Struct, frozen=True):
    """What a model has brought to a campaign so far."""

    model: str
    attempts: int
    """That it wrote."""
    reward: float
    """Theirs together, each from -1 to 1."""


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
    number: int = 1
    """Which attempt of its task it is; the loop knows."""
    standings: tuple[Standing, ...] = ()
    """Of the models that wrote so far, where there are several; the loop knows."""


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


class Unaffordable(Declined):
    """The money that is left does not pay for it."""


class Audit(msgspec.Struct, frozen=True):
    objection: str
    """Why a candidate is no honest kernel; empty where there is nothing to object to."""
    calls: tuple[Call, ...] = ()


class Auditor(ABC):
    """The second tier of the integrity gate. May be used from several threads at once."""

    @abstractmethod
    def audit(self, proposal: Proposal, candidate: Candidate) -> Audit:
        """Look at what the static rules let through. Raises Unaffordable."""


class Generator(ABC):
    """Writes candidates. May be used from several threads at once; keeps nothing between calls.

    `write` raises `Declined` where it has no answer to this proposal, and `GeneratorUnavailable`
    where it has none to any.
    """

    name: ClassVar[str]
    computes: ClassVar[bool] = False
    """Whether writing takes a processor of this machine: then it waits while a clock runs."""
    draws: ClassVar[bool] = False
    """Whether it may well answer what it has declined before."""

    @property
    def at_once(self) -> int:
        """How many proposals it answers in the time of one."""
        return 1

    @property
    def auditor(self) -> Auditor | None:
        """Whoever looks at candidates beside the judge; None: nobody does."""
        return None

    def use(self, models: ModelSettings) -> None:
        """The models it may ask, before anything else. Raises UsageError where it asks none."""
        raise UsageError(f"generator {self.name} asks no model: leave out --model")

    def fund(self, purse: Purse) -> None:  # noqa: B027 (most have nothing to pay)
        """Who pays for its questions from now on."""

    @abstractmethod
    def write(self, proposal: Proposal) -> Draft:
        """One candidate for one proposal."""

    @abstractmethod
    def check(self, backend: str) -> None:
        """Raise GeneratorUnavailable before anything is spent, where it could not answer."""
