"""The contract of a harness: one task, ready to be judged on one kind of device."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import ClassVar, Generic, NamedTuple, TypeVar

from kernelmill.backends.base import Built
from kernelmill.judge.correctness import Correctness, ExceptionHint
from kernelmill.judge.protocol import OutputTensor
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.records.verdict import (
    DeviceDiagnosis,
    Latency,
    Modelled,
    Profile,
    Resources,
    Verdict,
)


class Measurement(NamedTuple):
    """The result of a candidate's timed calls."""

    latency: Latency
    profile: Profile
    diagnosis: DeviceDiagnosis | None
    modelled: Modelled | None = None
    """The model's figures, where latency is modelled instead of measured."""
    resources: Resources = Resources()


_RunnerT = TypeVar("_RunnerT")
"""The handle of a sandbox with a candidate in it, on this kind of device."""


class Harness(ABC, Generic[_RunnerT]):
    """Everything that the judge keeps ready for one task: reference runners, cases, timed inputs.

    A harness hides all differences between devices: where inputs and outputs are in memory, who
    compares them, how calls are batched and synchronised, what the clock is. Methods that take a
    runner raise SandboxFailure, RunnerRaised or CandidateFailed for failures of the candidate, and
    ReferenceLost for failures of the reference. A harness is made once per task; making it raises
    TaskError where the task does not allow it.
    """

    task: Task
    clock: str
    """The way time is taken, in words."""
    exception_hints: ClassVar[tuple[ExceptionHint, ...]] = ()
    """Hints for exceptions that only occur on this kind of device."""

    @property
    @abstractmethod
    def device(self) -> str:
        """The device in words; empty for the CPU."""

    @property
    @abstractmethod
    def seeds(self) -> Iterable[int]:
        """The secret seeds of all cases."""

    @property
    @abstractmethod
    def held_bytes(self) -> int:
        """Approximate memory that it holds between verdicts."""

    @property
    @abstractmethod
    def capacity_bytes(self) -> int:
        """Memory that all harnesses of this kind may hold together between verdicts."""

    @property
    def total_bytes(self) -> int | None:
        """Memory of the whole device; None where only what is held between verdicts is limited."""
        return None

    @property
    @abstractmethod
    def open_files(self) -> int:
        """Approximate number of files that it holds open."""

    @abstractmethod
    def spawn_runner(self, candidate: Candidate, built: Built) -> AbstractContextManager[_RunnerT]:
        """Load a candidate into a new sandbox, which ends with the context."""

    @abstractmethod
    def check(self, runner: _RunnerT, small: bool) -> Correctness:
        """Run the trials that precede timing.

        `small` asks for small shapes only, where the backend is too slow for others.
        """

    @abstractmethod
    def check_again(self, runner: _RunnerT) -> Correctness:
        """Run one more trial after timing, on inputs that no trial has used."""

    @abstractmethod
    def prepare(self, compiled: bool) -> None:
        """Get the baselines ready: eager, or its substitute on this device, and torch.compile
        where `compiled` asks for it and it works."""

    def restore(self, verdict: Verdict) -> None:
        """Rate candidates against the kernel that an earlier verdict was rated against.

        Called before every verdict on a task whose baseline is its first feasible kernel.
        """

    @abstractmethod
    def measure(
        self,
        runner: _RunnerT,
        outputs: list[OutputTensor],
        built: Built,
        compiled: bool,
        repeats: int,
    ) -> Measurement:
        """Time the candidate and the prepared baselines in turn. Raises TimedAnswerWrong."""

    @abstractmethod
    def renew(self) -> None:
        """Replace a case after every few verdicts. Called once per verdict."""

    @abstractmethod
    def close(self) -> None:
        """End its processes and release its memory and files."""
