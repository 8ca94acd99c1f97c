"""Cases of a task: inputs, state and expected outputs, made in advance from secret seeds."""

import secrets
from abc import ABC, abstractmethod
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from kernelmill.judge import hidden_sizes
from kernelmill.judge.compare import ExpectedOutput, make_budget
from kernelmill.judge.plain_sums import longest_sum
from kernelmill.judge.protocol import CaseMade
from kernelmill.judge.runner_handle import ReferenceLost, RunnerHandle, RunnerRaised
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task, TensorSpec, Variant
from kernelmill.records.tensors import Node
from kernelmill.sandbox import SandboxFailure
from kernelmill.tensors.blob import Blob

IMPRECISE_FACTOR = 4
"""Factor on the tolerance where the reference cannot be computed in float64."""
_SEED_BITS = 60
_MAKE_SECONDS = 300.0
_LEAST_PLAIN_TRIALS = 2
_LEAST_TRIALS = 5
_HELD_OUT_CASES = 2
_TIMED_DISTRIBUTIONS = ("plain", "symmetric", "plain", "heavy")
"""Distributions of held-out cases in turn: those whose values take no processor longer."""
_VERDICTS_PER_RENEWAL = 8


class TrialCase(Protocol):
    """The properties that cases have in common on all devices."""

    @property
    def variant(self) -> Variant: ...
    @property
    def distribution(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def close(self) -> None: ...


_Case = TypeVar("_Case", bound=TrialCase)


class CaseSet(ABC, Generic[_Case]):
    """The cases of one task. The oldest trial is replaced after every few verdicts."""

    def __init__(self, task: Task) -> None:
        self._verdicts = 0
        self._oldest = 0
        self.trials = [self.make(task.shown, distribution) for distribution in _distributions(task)]
        self.trials += [self._make_hidden(task, number) for number in range(len(task.hidden))]
        self.held_out = [self.make(task.shown, "plain") for _ in range(_HELD_OUT_CASES)]
        """Cases that no trial uses before timing: the inputs of timed calls."""

    @abstractmethod
    def make(self, variant: Variant, distribution: str) -> _Case:
        """A new case from a secret seed. Raises TaskError."""

    @property
    def seeds(self) -> list[int]:
        return [case.seed for case in (*self.trials, *self.held_out)]

    @property
    def bytes(self) -> int:
        return sum(case.bytes for case in (*self.trials, *self.held_out))

    @property
    def files(self) -> int:
        return len(self.trials) + len(self.held_out)

    @property
    def unlike_timed(self) -> list[_Case]:
        """Cases of the timed shape whose distributions are not those of timed calls."""
        return [
            case
            for case in self.trials
            if not case.variant.hidden and case.distribution not in _TIMED_DISTRIBUTIONS
        ]

    def hold_out(self, task: Task, count: int) -> None:
        """Make as many held-out cases as timing needs. Raises TaskError."""
        known = [name for name in _TIMED_DISTRIBUTIONS if name in task.distributions]
        while len(self.held_out) < count:
            distribution = known[len(self.held_out) % len(known)]
            self.held_out.append(self.make(task.shown, distribution))

    def renew(self) -> None:
        """Count a verdict. Raises ReferenceLost where new cases are due and cannot be made."""
        self._verdicts += 1
        if self._verdicts % _VERDICTS_PER_RENEWAL == 0:
            self._replace_oldest(self.trials)
            self._replace_oldest(self.held_out)
            self._oldest += 1

    def _replace_oldest(self, cases: list[_Case]) -> None:
        number = self._oldest % len(cases)
        old = cases[number]
        try:
            cases[number] = self.make(old.variant, old.distribution)
        except TaskError as error:
            raise ReferenceLost(str(error)) from error
        old.close()

    def close(self) -> None:
        for case in (*self.trials, *self.held_out):
            case.close()

    def _make_hidden(self, task: Task, number: int) -> _Case:
        distribution = task.distributions[number % len(task.distributions)]
        while True:
            try:
                return self.make(hidden_sizes.secret_variant(task, number), distribution)
            except TaskError:
                if not hidden_sizes.reject_sizes(task, number):
                    raise


def _distributions(task: Task) -> list[str]:
    """The input distributions of the trials of the shown shape."""
    others = [distribution for distribution in task.distributions if distribution != "plain"]
    missing = _LEAST_TRIALS - len(others) - len(task.hidden)
    return ["plain"] * max(_LEAST_PLAIN_TRIALS, missing) + others


def secret_seed() -> int:
    return secrets.randbits(_SEED_BITS)


class HostCase(NamedTuple):
    """A case in host memory."""

    variant: Variant
    distribution: str
    seed: int
    given: Blob
    """Inputs, then state: the part that a runner gets."""
    inputs: Node
    state: dict[str, int]
    outputs: Node
    expected: list[ExpectedOutput]
    """The part that never leaves the judge."""
    strides: tuple[tuple[int, ...], ...] = ()
    """Strides of the outputs as the reference returns them."""
    overlapping: tuple[int, ...] = ()
    """Outputs that the reference itself returns expanded."""
    updated: tuple[str, ...] = ()
    """Buffers that a call changes."""

    @property
    def bytes(self) -> int:
        expected = sum(one.eager.nbytes + one.exact.nbytes for one in self.expected)
        return self.given.layout.bytes + expected

    @property
    def output_specs(self) -> list[TensorSpec]:
        return [TensorSpec(one.dtype, one.eager.shape) for one in self.expected]

    def close(self) -> None:
        self.given.close()


class HostCaseSet(CaseSet[HostCase]):
    """Cases that the reference makes and the judge holds in memory files."""

    def __init__(self, task: Task, reference: RunnerHandle) -> None:
        self._task = task
        self._reference = reference
        super().__init__(task)

    def make(
        self,
        variant: Variant,
        distribution: str,
        seed: int | None = None,
        change: Literal["nothing", "inputs", "state"] = "nothing",
    ) -> HostCase:
        """A new case. With the seed of another: that case with new inputs or default state."""
        seed = secret_seed() if seed is None else seed
        request = {
            "do": "case",
            "constants": variant.constants,
            "distribution": distribution,
            "seed": seed,
            "change": change,
        }
        try:
            made, files = self._reference.ask_for_files(request, CaseMade, _MAKE_SECONDS)
            if len(files) != 2 or 2 * len(made.conditioning) != len(made.expected.tensors):
                raise ValueError("the reference's answer is incomplete")
            given = Blob.received(files[0], made.layout)
            expected = self._expected(made, files[1])
        except (SandboxFailure, RunnerRaised, OSError, ValueError) as error:
            raise TaskError(f"{self._task.id}: no case could be made: {error}") from error
        return HostCase(
            variant, distribution, seed, given, made.inputs, made.state, made.outputs, expected,
            tuple(made.strides), tuple(made.overlapping), tuple(made.updated),
        )  # fmt: skip

    def _expected(self, made: CaseMade, file: int) -> list[ExpectedOutput]:
        blob = Blob.received(file, made.expected)
        count = len(made.expected.tensors) // 2
        tolerance = self._task.tolerance * (1 if made.precise else IMPRECISE_FACTOR)
        longest = longest_sum(self._task.signature, (t.shape for t in made.layout.tensors))
        expected = []
        for index, conditioning in enumerate(made.conditioning):
            dtype = made.expected.tensors[index].dtype
            eager, exact = blob.array(index), blob.array(count + index)
            budget = make_budget(dtype, eager, exact, tolerance, longest, conditioning)
            expected.append(ExpectedOutput(dtype, eager, exact, budget))
        blob.close()
        return expected
