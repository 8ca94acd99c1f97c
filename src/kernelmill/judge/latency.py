"""The latency gate: candidate and baselines in turn, the clock outside, every answer checked."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.cases import Case, Ring
from kernelmill.judge.compare import Budget, Expected
from kernelmill.judge.profiling import Sampler
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.roofline import least_milliseconds
from kernelmill.judge.statistics import ratio_interval, typical
from kernelmill.judge.subject import ReferenceLost, RunnerRaised, Subject, Timing
from kernelmill.judge.verdict import Latency, Profile
from kernelmill.sandbox import CellFailure, CellProtocolError
from kernelmill.tasks.task import Task
from kernelmill.tensors.layout import is_floating, widen

_CHECKED_ELEMENTS = 512
_TIMED_SLACK = 2.0
"""The timed check compares two float32 results: twice the budget against float64."""
_PROFILE_BATCHES = range(3, 12)
"""At least and at most: a short kernel needs more of them to be seen at work."""
_PROFILE_SAMPLES = 24
_WARM_UP_BATCHES = 2
CLOCK = "host clock of the judge; the runner lives only inside it"


class TimedAnswerWrong(Exception):
    """A timed call did not give the right answer by the time it said it had."""

    hint = "finish all work before returning, and compute every call from its own inputs"


class Contestant(NamedTuple):
    subject: Subject
    outputs: list[OutputTensor]
    """How its outputs lie in memory."""


class Samples(NamedTuple):
    """Nanoseconds a call, one row a contestant, one column a round."""

    candidate: npt.NDArray[np.float64]
    baselines: list[npt.NDArray[np.float64]]


@contextmanager
def _blaming_reference() -> Iterator[None]:
    """What goes wrong inside is not the candidate's fault."""
    try:
        yield
    except (CellFailure, RunnerRaised) as failure:
        raise ReferenceLost(str(failure)) from failure


class Contest:
    """One candidate against its baselines on one ring of inputs."""

    def __init__(
        self,
        candidate: Contestant,
        baselines: list[Contestant],
        ring: Ring,
        case: Case,
        seconds: float,
    ) -> None:
        self._candidate = candidate
        self._baselines = baselines
        self._ring = ring
        self._case = case
        self._seconds = seconds
        self._generator = np.random.default_rng()

    def attach(self) -> None:
        self._attach(self._candidate)
        with _blaming_reference():
            for baseline in self._baselines:
                self._attach(baseline)

    def _attach(self, contestant: Contestant) -> None:
        contestant.subject.attach(self._ring.request(), self._ring.file, self._seconds)
        contestant.subject.cell.stop()

    def profile(self, kernel_files: frozenset[str]) -> Profile:
        """Warm the candidate up while looking where its time goes."""
        sampler = Sampler(self._candidate.subject.cell, kernel_files)
        for number in range(_PROFILE_BATCHES.stop):
            if number >= _PROFILE_BATCHES.start and sampler.computing >= _PROFILE_SAMPLES:
                break
            self._ring.refresh(self._generator)
            body = {"do": "batch", "calls": self._ring.slots}
            sampler.run(body, self._seconds, self._generator)
        return sampler.profile()

    def measure(self, rounds: int) -> Samples:
        """Timed rounds, the order reversed every other round; raises TimedAnswerWrong."""
        contestants = [self._candidate, *self._baselines]
        rows: list[list[float]] = [[] for _ in contestants]
        for _ in range(_WARM_UP_BATCHES):
            self._round(contestants, range(len(contestants)))
        for number in range(rounds):
            order = range(len(contestants))
            timings = self._round(contestants, order if number % 2 == 0 else reversed(order))
            for row, timing in zip(rows, timings, strict=True):
                row.append(timing.nanoseconds / self._ring.slots)
            self._check(timings, thorough=number == rounds - 1)
        arrays = [np.asarray(row) for row in rows]
        return Samples(arrays[0], arrays[1:])

    def _round(self, contestants: list[Contestant], order: Iterable[int]) -> list[Timing]:
        self._ring.refresh(self._generator)
        timings: dict[int, Timing] = {}
        for index in order:
            with _blaming_reference() if index else nullcontext():
                timings[index] = contestants[index].subject.batch(self._ring.slots, self._seconds)
        return [timings[index] for index in range(len(contestants))]

    def _check(self, timings: list[Timing], thorough: bool) -> None:
        """Compare the candidate's answers of this round with eager's, out of stopped memory."""
        call = int(self._generator.integers(self._ring.slots))
        ours, theirs = timings[0].pointers, timings[1].pointers
        if len(ours) != self._ring.slots or len(ours[call]) != len(self._candidate.outputs):
            raise CellProtocolError("a timed batch without all its outputs")
        for index, expected in enumerate(self._case.expected):
            positions = self._positions(expected.eager.size, thorough)
            actual = _read(self._candidate, index, ours[call][index], positions)
            with _blaming_reference():
                wanted = _read(self._baselines[0], index, theirs[call][index], positions)
            wrong = _count_wrong(actual, wanted, expected.dtype, expected.budget)
            if wrong > _allowed_wrong(expected, actual.size):
                raise TimedAnswerWrong(
                    f"in a timed call {wrong} of {actual.size} elements looked at are wrong"
                )

    def _positions(self, count: int, thorough: bool) -> npt.NDArray[np.int64] | None:
        """Which elements to look at; None for all."""
        if thorough or count <= _CHECKED_ELEMENTS:
            return None
        return self._generator.integers(0, count, _CHECKED_ELEMENTS, dtype=np.int64)


def _read(
    contestant: Contestant, index: int, address: int, positions: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.generic]:
    output = msgspec.structs.replace(contestant.outputs[index], address=address)
    if positions is None:
        return contestant.subject.read_output(output).reshape(-1)
    return contestant.subject.read_elements(output, positions)


def _count_wrong(
    actual: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic], dtype: str, budget: Budget
) -> int:
    if not is_floating(dtype):
        return int(np.count_nonzero(actual != wanted))
    ours, theirs = widen(actual, dtype), widen(wanted, dtype)
    with np.errstate(invalid="ignore"):
        allowed = _TIMED_SLACK * (budget.absolute + budget.relative * np.abs(theirs))
        right = (np.abs(ours - theirs) <= allowed) | (ours == theirs)
    right |= np.isnan(ours) & np.isnan(theirs)
    return int(np.count_nonzero(~right))


def _allowed_wrong(expected: Expected, looked_at: int) -> int:
    """Discrete outputs may differ where rounding decides, as often as eager's own do."""
    if is_floating(expected.dtype) or expected.budget.mismatches == 0:
        return 0
    share = expected.budget.mismatches / max(1, expected.eager.size)
    return 2 + int(_TIMED_SLACK * share * looked_at)


def summarise(samples: Samples, task: Task, threads: int, calls: int) -> Latency:
    """Typical times, and intervals of their ratios."""
    floor = least_milliseconds(task, threads)
    milliseconds = [typical(row) / 1e6 for row in samples.baselines]
    ratios = [ratio_interval(row, samples.candidate) for row in samples.baselines]
    return Latency(
        candidate_ms=typical(samples.candidate) / 1e6,
        eager_ms=milliseconds[0],
        compile_ms=milliseconds[1] if len(ratios) > 1 else None,
        over_eager=ratios[0],
        over_compile=ratios[1] if len(ratios) > 1 else None,
        floor_ms=floor.memory,
        arithmetic_ms=floor.arithmetic,
        rounds=samples.candidate.size,
        calls_per_round=calls,
    )
