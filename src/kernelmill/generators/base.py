"""The contract of a generator: a proposal in, a candidate out."""

from abc import ABC, abstractmethod
from typing import ClassVar

from kernelmill.records.cost_budget import CostBudget
from kernelmill.records.errors import UsageError
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.model_settings import ModelSettings
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.task import Task


class Declined(Exception):
    """The generator has no candidate for this proposal; the message says why."""

    def __init__(self, message: str, calls: tuple[ModelCall, ...] = ()) -> None:
        super().__init__(message)
        self.calls = calls
        """The calls to models that were made before it declined."""


class Unaffordable(Declined):
    """The cost budget does not cover the next call to a model."""


class TaskDeclined(Declined):
    """The generator has no candidate for the task, whatever is proposed.

    The message says why and names a way out. A campaign sets the task aside.
    """


class NoAnswer(Declined):
    """Whoever the generator asks does not answer now, which says nothing about the proposal.

    A campaign pauses and proposes the attempt again.
    """


class Generator(ABC):
    """Writes candidates.

    A generator is a plug-in: a class behind the entry point `kernelmill.generators`. In
    `--generator NAME:ARGUMENT` its constructor gets the argument.

    Order of calls: `use` and `fund`, then `check`, then `study` and `write`. `fund` may be called
    again later.

    Threads: `study`, `write` and `at_once` may be called from several threads at once. `use`,
    `fund` and `check` are called from one thread, while no `write` is under way.

    State: the answer to a proposal depends on the proposal, not on earlier ones. A generator may
    keep caches and warm processes between calls.

    Ownership: a proposal belongs to the caller and is not changed. A draft belongs to the caller as
    soon as it is returned.

    Errors: each method says what it raises. Any other exception is a bug. A campaign stores what
    `write` raises as the reason of a declined attempt, and goes on.
    """

    name: ClassVar[str]
    computes: ClassVar[bool] = False
    """Whether `write` computes on this machine: then it waits while a candidate is timed."""
    declines_for_good: bool = True
    """Whether it declines a proposal again that differs only in its seed and its number. A campaign
    sets a task aside rather than ask such a generator twice."""

    @property
    def at_once(self) -> int:
        """The number of proposals that it answers in the time of one: at least 1."""
        return 1

    def use(self, models: ModelSettings) -> None:
        """Set the models it may ask. Raises UsageError where it asks none."""
        raise UsageError(f"generator {self.name} asks no model: leave out --model")

    def fund(self, budget: CostBudget) -> None:  # noqa: B027 (most generators cost nothing)
        """Set the budget that pays for every later call to a model.

        Raises GeneratorUnavailable where it was given no models.
        """

    @abstractmethod
    def check(self, backend: str) -> None:
        """Find out, before anything is spent, whether it can write for a backend.

        Raises GeneratorUnavailable, with what is missing and how to get it.
        """

    def study(self, task: Task) -> None:  # noqa: B027 (most generators write at once)
        """Do in other processes what `write` will need of a task, ahead of it.

        Unlike `write` it never waits while a candidate is timed on a separate device, so it must
        leave this process alone. What it cannot do is left to `write`: it raises nothing.
        """

    @abstractmethod
    def write(self, proposal: Proposal) -> Draft:
        """Write one candidate.

        Raises Declined where it has none for this proposal, TaskDeclined where it has none for the
        task, NoAnswer where it may have one later, Unaffordable where the budget does not cover a
        call, and GeneratorUnavailable where it could answer no proposal at all.
        """
