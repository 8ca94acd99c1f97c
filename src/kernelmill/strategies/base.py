"""The contract of a strategy: it proposes the next attempt of a task, and learns from the outcome.

`kernelmill.conformance.strategy` tests it.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from kernelmill.memory import Memory
from kernelmill.records.attempt import Attempt, AttemptPlan, Observation, State
from kernelmill.records.calibration import NOT_CALIBRATED, Calibration
from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Guidance
from kernelmill.records.proposal import Draft, Hint, ModelScore, Parent, Proposal, Stage
from kernelmill.records.search_step import SearchStep
from kernelmill.records.task import Task

_SEED_BYTES = 7


class History(ABC):
    """One task of a campaign, at the moment when its next attempt is proposed.

    It is all that a strategy sees of the workspace, and valid during one call of `propose`.
    """

    backend: str
    """The target: a backend, with the chip where it has several, such as `pallas:v6e`."""
    seed: int
    """Seed of the next attempt: the same for the same attempt of the same campaign."""
    number: int
    """Number of the next attempt within its task, from 1."""
    attempts: Sequence[Attempt]
    """All earlier attempts of the task in this campaign, in order."""
    earlier: Sequence[Attempt] = ()
    """Judged attempts of the task on the same target in other campaigns of the workspace: the
    fastest first, then those that were refused."""
    memory: Memory
    """The workspace's memory, for reading only."""

    @property
    @abstractmethod
    def model_scores(self) -> tuple[ModelScore, ...]:
        """Attempts and rewards of each model in the campaign so far, where it has several."""

    @property
    def calibration(self) -> Calibration:
        """How the predictions of the campaign came out so far."""
        return NOT_CALIBRATED

    @abstractmethod
    def parent(self, attempt: Attempt) -> Parent:
        """An attempt of this history, or an earlier one, with source and verdict, to start from.

        A declined attempt has neither: it must not be asked for.
        """

    @abstractmethod
    def planned(self, attempt: Attempt) -> AttemptPlan | None:
        """Guidance, plan and diagnosis of an attempt of this history; None where it had none."""

    def recent(self, most: int) -> Sequence[Attempt]:
        """The latest of the attempts, in order; without reading the others."""
        return self.attempts[-most:]

    def attempt(self, number: int) -> Attempt | None:
        """The attempt of this history with an id; None where it is not one of its own."""
        return next((one for one in self.attempts if one.id == number), None)

    @property
    def best(self) -> Attempt | None:
        """The attempt that passed with the highest ratio to the baseline."""
        passed = [attempt for attempt in self.attempts if attempt.state == State.PASSED]
        return max(passed, key=lambda attempt: attempt.ratio or 0.0, default=None)

    @property
    def stage(self) -> Stage:
        return Stage.DRAFT if self.best is None else Stage.REFINE

    def proposal(
        self,
        task: Task,
        *,
        stage: Stage | None = None,
        parent: Parent | None = None,
        context: Iterable[Hint] = (),
        instruction: str = "",
        guidance: Guidance | None = None,
        decisions: Decisions | None = None,
        confirm_above: float | None = None,
        remeasure: Iterable[Parent] = (),
        step: SearchStep | None = None,
        draft: Draft | None = None,
        combinations: int = 0,
        writer: int | None = None,
    ) -> Proposal:
        """A whole proposal for the next attempt: the strategy's choices, and all else from here."""
        return Proposal(
            task,
            self.backend,
            stage or self.stage,
            self.seed,
            parent=parent,
            context=tuple(context),
            instruction=instruction,
            guidance=guidance,
            number=self.number,
            model_scores=self.model_scores,
            calibration=str(self.calibration) if self.calibration.predictions else "",
            decisions=decisions or {},
            confirm_above=confirm_above,
            remeasure=tuple(remeasure),
            step=step,
            draft=draft,
            combinations=combinations,
            writer=writer,
        )


class Strategy(ABC):
    """Decides what is tried next on a task, and learns from the outcome.

    Order: a task has one attempt under way at a time, so that a history has all earlier attempts
    of its task. Attempts of other tasks may be under way, and are observed later.

    Threads: both methods are called from one thread, and need no locks. Arguments are valid during
    the call only, and in that thread.

    Determinism: equal tasks, histories and memories give equal proposals, from any instance with
    the same settings. Randomness comes from `history.seed` alone. A new process proposes an
    interrupted attempt again.

    State: all that is learned is in the memory. What an instance keeps is a cache of it, which must
    not outlive an observation that is rolled back.

    Errors: the constructor raises UsageError for settings that it does not know. `propose` and
    `observe` have an answer to every history and every outcome. They pass on WorkspaceError, which
    the memory raises; any other exception is a defect, and ends the campaign.
    """

    name: ClassVar[str]
    """The name of its entry point, without a colon."""

    @abstractmethod
    def propose(self, task: Task, history: History) -> Proposal:
        """The next attempt of a task, as `history.proposal` makes it. Writes nothing."""

    @abstractmethod
    def observe(self, observation: Observation, memory: Memory) -> None:
        """Learn from a finished attempt.

        `memory` writes into the transaction that stores the attempt: both are committed, or
        neither is. A strategy neither begins nor ends a transaction.
        """


def seed_of(campaign_seed: int, task: str, number: int) -> int:
    """The seed of an attempt, independent of the order in which tasks are worked on."""
    text = f"{campaign_seed}\0{task}\0{number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_SEED_BYTES], "big")
