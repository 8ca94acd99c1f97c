"""The latency gate: candidate and baselines in turn, the clock outside, every answer checked."""

import math
from collections.abc import Iterable
from contextlib import nullcontext
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.cases import Case, Ring
from kernelmill.judge.compare import CAP_SLACK, NORM_SLACK, Budget, Expected
from kernelmill.judge.placement import placed
from kernelmill.judge.profiling import Sampler
from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.roofline import Floor
from kernelmill.judge.settings import Settings
from kernelmill.judge.statistics import ratio_interval, typical
from kernelmill.judge.subject import Subject, Timing, blaming_reference
from kernelmill.judge.verdict import Latency, Profile
from kernelmill.sandbox import CellProtocolError
from kernelmill.tensors.layout import is_floating, item_size, widen

_CHECKED_ELEMENTS = 2048
_THOROUGH_ROUNDS = 3
"""Rounds in which every element of a call is looked at."""
_WATCHED_ROUNDS = 8
"""Rounds in which the candidate is looked at instead of timed; it cannot know which."""
_MOST_WATCHED_ROUNDS = 32
_LOOKS = 12
"""Watching goes on behind the timed rounds until the candidate was seen computing this often."""
_WARM_UP_ROUNDS = 2
_WAITED_SHARE = 0.04
"""A round in which somebody waited longer than this share of it for a processor is disturbed."""
_LEAST_ROUNDS = 10
"""Fewer quiet rounds than this are no sample."""
REPEATS = 4
"""How often as many rounds again are run while the interval leaves open who is faster: ..."""
_NARROW = 0.03
_CLEAR = 0.05
"""... until it is this narrow, or this far from 1."""
_LOST = 0.5
_ROUNDS_OF_A_LOSER = 6
"""Who is below this share of eager's speed in each of so many rounds has lost."""
_SPOILED_BLOCK = 4096
_SPOILED_SHARE = 0.1
"""Little enough that a look at a few places finds nothing, and every check does."""


class TimedAnswerWrong(Exception):
    """A timed call did not give the right answer by the time it said it had."""

    hint = "finish all work before returning, and compute every call from its own inputs"


class Contestant(NamedTuple):
    subject: Subject
    outputs: list[OutputTensor]
    """How its outputs lie in memory."""


class Samples(NamedTuple):
    """Nanoseconds a call, round by round, and what was seen of the candidate meanwhile."""

    candidate: npt.NDArray[np.float64]
    baselines: list[npt.NDArray[np.float64]]
    disturbed: float
    """Share of rounds in which a contestant had to wait for a processor."""
    profile: Profile


class Contest:
    """One candidate against its baselines on one ring of inputs."""

    def __init__(
        self,
        candidate: Contestant,
        baselines: list[Contestant],
        ring: Ring,
        case: Case,
        kernel_files: frozenset[str],
        settings: Settings,
    ) -> None:
        self._sampler = Sampler(candidate.subject.cell, kernel_files)
        self._candidate = candidate
        self._baselines = baselines
        self._contestants = [candidate, *baselines]
        self._rows: list[list[float]] = [[] for _ in self._contestants]
        self._waits: list[float] = []
        self._ring = ring
        self._case = case
        self._seconds = settings.seconds
        self._places = settings.places()
        self._generator = np.random.default_rng()

    def attach(self) -> None:
        self._attach(self._candidate)
        with blaming_reference():
            for baseline in self._baselines:
                self._attach(baseline)

    def _attach(self, contestant: Contestant) -> None:
        contestant.subject.attach(self._ring.request(), self._ring.file, self._seconds)
        contestant.subject.cell.stop()

    def measure(self, rounds: int, repeats: int = REPEATS) -> Samples:
        """Timed and watched rounds in a secret order; raises TimedAnswerWrong."""
        cells = [contestant.subject.cell for contestant in self._contestants]
        for _ in range(_WARM_UP_ROUNDS):
            self._round(range(len(cells)))
        with placed(cells, self._places):
            thorough = set(self._generator.choice(rounds, _THOROUGH_ROUNDS).tolist())
            schedule = np.repeat([True, False], [rounds, _WATCHED_ROUNDS])
            for is_timed in self._generator.permutation(schedule).tolist():
                if self._has_lost() and (is_timed or self._sampler.looks >= _LOOKS):
                    continue
                if is_timed:
                    self._time(thorough=len(self._waits) in thorough)
                else:
                    self._watch()
            for _ in range(repeats):
                if self._has_lost() or settled(self._samples(), rounds):
                    break
                for _ in range(rounds):
                    self._time(thorough=False)
            for _ in range(_MOST_WATCHED_ROUNDS - _WATCHED_ROUNDS):
                if self._sampler.looks >= _LOOKS:
                    break
                self._watch()
        return self._samples()

    def _time(self, thorough: bool) -> None:
        order = range(len(self._contestants))
        timings = self._round(order if len(self._waits) % 2 == 0 else reversed(order))
        for row, timing in zip(self._rows, timings, strict=True):
            row.append(timing.nanoseconds / self._ring.slots)
        self._waits.append(max(t.waited / t.nanoseconds for t in timings))
        self._check(timings, thorough)
        self._spoil(timings[0])

    def _has_lost(self) -> bool:
        return has_lost(*self._rows[:2])

    def _samples(self) -> Samples:
        """The undisturbed rounds; all of them where those are too few."""
        rows = np.asarray(self._rows)
        quiet = np.asarray(self._waits) <= _WAITED_SHARE
        chosen = rows[:, quiet] if quiet.sum() >= _LEAST_ROUNDS else rows
        return Samples(
            chosen[0], list(chosen[1:]), float(1 - quiet.mean()), self._sampler.profile()
        )

    def _watch(self) -> None:
        self._ring.refresh(self._generator)
        body = {"do": "batch", "calls": self._ring.slots}
        self._sampler.run(body, self._seconds, self._generator, self._ring.slots)

    def _round(self, order: Iterable[int]) -> list[Timing]:
        self._ring.refresh(self._generator)
        timings: dict[int, Timing] = {}
        for index in order:
            with blaming_reference() if index else nullcontext():
                timings[index] = self._contestants[index].subject.batch(
                    self._ring.slots, self._seconds
                )
        return [timings[index] for index in range(len(self._contestants))]

    def _check(self, timings: list[Timing], thorough: bool) -> None:
        """Compare the candidate's answers of this round with eager's, out of stopped memory."""
        call = int(self._generator.integers(self._ring.slots))
        ours, theirs = timings[0].pointers, timings[1].pointers
        if len(ours) != self._ring.slots or len(ours[call]) != len(self._candidate.outputs):
            raise CellProtocolError("a timed batch without all its outputs")
        if thorough and self._candidate.subject.shares_memory(ours[call]):
            raise TimedAnswerWrong("in a timed call an output lies in the memory of an input")
        for index, expected in enumerate(self._case.expected):
            positions = self._positions(expected.eager.size, thorough)
            actual = _read(self._candidate, index, ours[call][index], positions)
            with blaming_reference():
                wanted = _read(self._baselines[0], index, theirs[call][index], positions)
            _compare_timed(actual, wanted, expected)

    def _spoil(self, timing: Timing) -> None:
        """Ruin a random part of its old answers: memory it leaves unwritten next time shows."""
        for pointers in timing.pointers:
            for output, address in zip(self._candidate.outputs, pointers, strict=True):
                length = math.prod(output.shape) * item_size(output.dtype)
                starts = np.arange(0, length, _SPOILED_BLOCK)
                chosen = starts[self._generator.random(starts.size) < _SPOILED_SHARE].tolist()
                self._candidate.subject.cell.spoil(
                    [(address + at, min(_SPOILED_BLOCK, length - at)) for at in chosen]
                )

    def _positions(self, count: int, thorough: bool) -> npt.NDArray[np.int64] | None:
        """Which elements to look at; None for all."""
        if thorough or count <= _CHECKED_ELEMENTS:
            return None
        return self._generator.integers(0, count, _CHECKED_ELEMENTS, dtype=np.int64)


def has_lost(candidate: list[float], eager: list[float]) -> bool:
    """By its times round by round: more of them would tell nothing new."""
    lost = all(e < _LOST * c for c, e in zip(candidate, eager, strict=True))
    return lost and len(candidate) >= _ROUNDS_OF_A_LOSER


def settled(samples: Samples, rounds: int) -> bool:
    """Enough quiet rounds, and an interval that is narrow, or says the same anyway."""
    interval = ratio_interval(samples.baselines[0], samples.candidate)
    clear = interval.low > 1 + _CLEAR or interval.high < 1 - _CLEAR
    narrow = interval.high - interval.low < _NARROW * interval.ratio
    return samples.candidate.size >= rounds / 2 and (clear or narrow)


def _read(
    contestant: Contestant, index: int, address: int, positions: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.generic]:
    output = msgspec.structs.replace(contestant.outputs[index], address=address)
    if positions is None:
        return contestant.subject.read_output(output).reshape(-1)
    return contestant.subject.read_elements(output, positions)


def _compare_timed(
    actual: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic], expected: Expected
) -> None:
    """As strict as a trial: a cap on every element, and the norm of the error."""
    dtype, budget = expected.dtype, expected.budget
    if dtype == "float32" and _plainly_right(actual, wanted, budget):
        return
    if not is_floating(dtype):
        wrong, norm = int(np.count_nonzero(actual != wanted)), 0.0
    else:
        ours, theirs = widen(actual, dtype), widen(wanted, dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(ours - theirs)
            same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
            error[same] = 0
            allowed = CAP_SLACK * (budget.absolute + budget.relative * np.abs(theirs))
            wrong = int(np.count_nonzero(~(error <= allowed)))
            norm = float(np.sqrt(np.mean(np.square(error)))) if not wrong else 0.0
    if wrong > _allowed_wrong(expected, actual.size):
        raise TimedAnswerWrong(
            f"in a timed call {wrong} of {actual.size} elements looked at are wrong"
        )
    if norm > NORM_SLACK * budget.norm:
        raise TimedAnswerWrong(
            f"a timed call is too inexact: {norm / budget.norm:.1f} times the error budget"
        )


def _plainly_right(
    actual: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic], budget: Budget
) -> bool:
    """The usual case without leaving single precision, in which near numbers subtract exactly."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.subtract(actual, wanted, dtype=np.float32)
        largest = max(float(error.max(initial=0.0)), -float(error.min(initial=0.0)))
        if not largest <= CAP_SLACK * budget.absolute:
            return False
        norm = float(np.sqrt(np.dot(error, error) / max(1, error.size)))
    return norm <= NORM_SLACK * budget.norm


def _allowed_wrong(expected: Expected, looked_at: int) -> int:
    """Discrete outputs may differ where rounding decides, as often as eager's own do."""
    if is_floating(expected.dtype) or expected.budget.mismatches == 0:
        return 0
    share = expected.budget.mismatches / max(1, expected.eager.size)
    return 2 + int(CAP_SLACK * share * looked_at)


def summarise(samples: Samples, floor: Floor, calls: int) -> Latency:
    """Typical times, and intervals of their ratios."""
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
        disturbed=samples.disturbed,
        calls_per_round=calls,
    )
