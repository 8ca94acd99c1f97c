"""The contract of a bench: one task, ready to be judged on one kind of device."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Generic, NamedTuple, TypeVar

from kernelmill.backends.base import Built
from kernelmill.candidate import Candidate
from kernelmill.judge.correctness import Correctness
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.verdict import DeviceDiagnosis, Latency, Modelled, Profile
from kernelmill.tasks.task import Task


class Competition(NamedTuple):
    """What came of a candidate's timed calls."""

    latency: Latency
    profile: Profile
    diagnosis: DeviceDiagnosis | None
    modelled: Modelled | None = None
    """Where a model told the time."""


Seated = TypeVar("Seated")
"""A candidate in its cell, as the judge talks to it on this kind of device."""


class Bench(ABC, Generic[Seated]):
    """Everything the judge keeps ready for one task: reference runners, cases, timed inputs.

    All that differs between devices is behind this: where inputs and answers lie and who compares
    them, how calls are batched and synchronised, what the clock is. Methods that take a subject
    raise CellFailure, RunnerRaised or CandidateFailed for its own failures, ReferenceLost for
    those of the reference. Made once a task; raises TaskError where the task does not allow it.
    """

    task: Task
    clock: str
    """How time is taken, in words."""

    @property
    @abstractmethod
    def device(self) -> str:
        """The device judged on, in words; empty for the processor."""

    @property
    @abstractmethod
    def seeds(self) -> Iterable[int]:
        """Of every case: secret."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """About how much memory it holds."""

    @property
    @abstractmethod
    def most_bytes(self) -> int:
        """What it and its like may hold together between verdicts."""

    @property
    @abstractmethod
    def files(self) -> int:
        """About how many open files it holds."""

    @abstractmethod
    def seat(self, candidate: Candidate, built: Built) -> AbstractContextManager[Seated]:
        """A runner of its own for a candidate, ended on leaving."""

    @abstractmethod
    def check(self, subject: Seated, small: bool) -> Correctness:
        """The trials before the clock; only those of small shapes for who cannot bear more."""

    @abstractmethod
    def check_again(self, subject: Seated) -> Correctness:
        """One more behind the clock, on inputs that no trial has used before."""

    @abstractmethod
    def prepare(self, compiled: bool) -> None:
        """Have the baselines ready: eager, and torch.compile where wanted and where it works; or
        what stands for them on this device."""

    @abstractmethod
    def compete(
        self,
        subject: Seated,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Competition:
        """Timed calls of candidate and prepared baselines in turn; raises TimedAnswerWrong."""

    @abstractmethod
    def renew(self) -> None:
        """A verdict is done: now and then, replace a case."""

    @abstractmethod
    def close(self) -> None: ...
