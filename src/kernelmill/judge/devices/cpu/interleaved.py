"""Interleaved timing on the CPU: candidate and baselines in turn, with checks of the outputs."""

import math
from collections.abc import Iterable
from contextlib import nullcontext

import msgspec
import numpy as np
import numpy.typing as npt

from kernelmill.judge.cases import HostCase
from kernelmill.judge.compare import CAP_SLACK, NORM_SLACK, ErrorBudget, ExpectedOutput
from kernelmill.judge.devices.cpu.profiling import Sampler
from kernelmill.judge.input_ring import InputRing
from kernelmill.judge.placement import pinned
from kernelmill.judge.runner_handle import Timing, attributed_to_reference
from kernelmill.judge.settings import JudgeSettings
from kernelmill.judge.timing import (
    REPEATS,
    Samples,
    TimedAnswerWrong,
    TimedRunner,
    is_hopeless,
    is_settled,
)
from kernelmill.records.tensors import is_floating, item_size, widen
from kernelmill.sandbox import SandboxProtocolError

_CHECKED_ELEMENTS = 2048
"""Elements of an output that are compared in most rounds."""
_THOROUGH_ROUNDS = 3
"""Rounds in which every element of a call is compared."""
_PROFILED_ROUNDS = 8
"""Rounds in which the candidate is profiled instead of timed; it cannot know which."""
_MOST_PROFILED_ROUNDS = 64
"""Profiling continues after the timed rounds until it is decided whose code the candidate runs."""
_WARM_UP_ROUNDS = 2
_MOST_WAITED_SHARE = 0.04
"""A round is disturbed where a runner waited for a processor for more than this share of it."""
_LEAST_ROUNDS = 10
"""Number of undisturbed rounds below which disturbed ones are used too."""
_OVERWRITTEN_BLOCK = 4096
_OVERWRITTEN_SHARE = 0.1
"""Share of the blocks of old outputs that are overwritten: too few for a candidate to find by
looking at some elements, and enough for every check of the judge to notice."""


class InterleavedTiming:
    """One candidate against its baselines on one ring of inputs."""

    def __init__(
        self,
        candidate: TimedRunner,
        baselines: list[TimedRunner],
        ring: InputRing,
        case: HostCase,
        sampler: Sampler,
        settings: JudgeSettings,
    ) -> None:
        self._sampler = sampler
        self._candidate = candidate
        self._baselines = baselines
        self._timed = [candidate, *baselines]
        self._rows: list[list[float]] = [[] for _ in self._timed]
        self._waits: list[float] = []
        self._ring = ring
        self._case = case
        self._seconds = settings.seconds
        self._processors = settings.thread_processors()
        self._rng = np.random.default_rng()

    def attach(self) -> None:
        """Give all runners the ring, and stop them."""
        self._attach(self._candidate)
        with attributed_to_reference():
            for baseline in self._baselines:
                self._attach(baseline)

    def _attach(self, timed: TimedRunner) -> None:
        timed.runner.attach(self._ring.request(), self._ring.file, self._seconds)
        timed.runner.sandbox.stop()

    def measure(self, rounds: int, repeats: int = REPEATS) -> Samples:
        """Run timed and profiled rounds in a secret order. Raises TimedAnswerWrong."""
        sandboxes = [timed.runner.sandbox for timed in self._timed]
        for _ in range(_WARM_UP_ROUNDS):
            self._round(range(len(sandboxes)))
        with pinned(sandboxes, self._processors):
            thorough = set(self._rng.choice(rounds, _THOROUGH_ROUNDS).tolist())
            schedule = np.repeat([True, False], [rounds, _PROFILED_ROUNDS])
            for is_timed in self._rng.permutation(schedule).tolist():
                if self._is_hopeless() and (is_timed or self._sampler.is_decided):
                    continue
                if is_timed:
                    self._time(thorough=len(self._waits) in thorough)
                else:
                    self._profile()
            for _ in range(repeats):
                if self._is_hopeless() or is_settled(self._samples(), rounds):
                    break
                for _ in range(rounds):
                    self._time(thorough=False)
            for _ in range(_MOST_PROFILED_ROUNDS - _PROFILED_ROUNDS):
                if self._sampler.is_decided:
                    break
                self._profile()
        return self._samples()

    def _time(self, thorough: bool) -> None:
        """One timed round, with a check of the candidate's outputs."""
        order = range(len(self._timed))
        timings = self._round(order if len(self._waits) % 2 == 0 else reversed(order))
        for row, timing in zip(self._rows, timings, strict=True):
            row.append(timing.nanoseconds / self._ring.slots)
        self._waits.append(max(t.waited / t.nanoseconds for t in timings))
        self._check(timings, thorough)
        self._overwrite_outputs(timings[0])

    def _is_hopeless(self) -> bool:
        return is_hopeless(*self._rows[:2])

    def _samples(self) -> Samples:
        """The undisturbed rounds, or all rounds where those are too few."""
        rows = np.asarray(self._rows)
        undisturbed = np.asarray(self._waits) <= _MOST_WAITED_SHARE
        chosen = rows[:, undisturbed] if undisturbed.sum() >= _LEAST_ROUNDS else rows
        disturbed = float(1 - undisturbed.mean())
        return Samples(chosen[0], list(chosen[1:]), disturbed, self._sampler.profile())

    def _profile(self) -> None:
        self._ring.refresh(self._rng)
        body = {"do": "batch", "calls": self._ring.slots}
        sandbox = self._candidate.runner.sandbox
        self._sampler.run(sandbox, body, self._seconds, self._rng, self._ring.slots)

    def _round(self, order: Iterable[int]) -> list[Timing]:
        self._ring.refresh(self._rng)
        timings: dict[int, Timing] = {}
        for index in order:
            with attributed_to_reference() if index else nullcontext():
                timings[index] = self._timed[index].runner.batch(self._ring.slots, self._seconds)
        return [timings[index] for index in range(len(self._timed))]

    def _check(self, timings: list[Timing], thorough: bool) -> None:
        """Compare the candidate's outputs of one call with eager's, while both are stopped."""
        call = int(self._rng.integers(self._ring.slots))
        ours, theirs = timings[0].pointers, timings[1].pointers
        if len(ours) != self._ring.slots or len(ours[call]) != len(self._candidate.outputs):
            raise SandboxProtocolError("a timed batch without all its outputs")
        if thorough and self._candidate.runner.shares_memory(ours[call]):
            raise TimedAnswerWrong("in a timed call an output shares memory with an input")
        for index, expected in enumerate(self._case.expected):
            positions = self._positions(expected.eager.size, thorough)
            actual = _read(self._candidate, index, ours[call][index], positions)
            with attributed_to_reference():
                wanted = _read(self._baselines[0], index, theirs[call][index], positions)
            _compare_timed(actual, wanted, expected)

    def _overwrite_outputs(self, timing: Timing) -> None:
        """Fill random blocks of its old outputs with rubbish, so that the next check notices
        elements which were not written again."""
        for pointers in timing.pointers:
            for output, address in zip(self._candidate.outputs, pointers, strict=True):
                length = math.prod(output.shape) * item_size(output.dtype)
                starts = np.arange(0, length, _OVERWRITTEN_BLOCK)
                chosen = starts[self._rng.random(starts.size) < _OVERWRITTEN_SHARE].tolist()
                self._candidate.runner.sandbox.poison(
                    [(address + at, min(_OVERWRITTEN_BLOCK, length - at)) for at in chosen]
                )

    def _positions(self, count: int, thorough: bool) -> npt.NDArray[np.int64] | None:
        """Positions of the elements to compare; None for all."""
        if thorough or count <= _CHECKED_ELEMENTS:
            return None
        return self._rng.integers(0, count, _CHECKED_ELEMENTS, dtype=np.int64)


def _read(
    timed: TimedRunner, index: int, address: int, positions: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.generic]:
    output = msgspec.structs.replace(timed.outputs[index], address=address)
    if positions is None:
        return timed.runner.read_output(output).reshape(-1)
    return timed.runner.read_elements(output, positions)


def _compare_timed(
    actual: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic], expected: ExpectedOutput
) -> None:
    """Check a cap on every element and the error norm, as a trial does. Raises TimedAnswerWrong."""
    dtype, budget = expected.dtype, expected.budget
    if dtype == "float32" and _fits_in_float32(actual, wanted, budget):
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
            f"in a timed call {wrong} of {actual.size} compared elements are wrong"
        )
    if norm > NORM_SLACK * budget.norm:
        raise TimedAnswerWrong(
            f"a timed call is too inexact: {norm / budget.norm:.1f} times the error budget"
        )


def _fits_in_float32(
    actual: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic], budget: ErrorBudget
) -> bool:
    """A fast check in single precision, in which the difference of close numbers is exact.

    False means that the check in double precision decides.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.subtract(actual, wanted, dtype=np.float32)
        largest = max(float(error.max(initial=0.0)), -float(error.min(initial=0.0)))
        if not largest <= CAP_SLACK * budget.absolute:
            return False
        norm = float(np.sqrt(np.dot(error, error) / max(1, error.size)))
    return norm <= NORM_SLACK * budget.norm


def _allowed_wrong(expected: ExpectedOutput, compared: int) -> int:
    """The number of mismatches that rounding explains, in outputs that are discrete."""
    if is_floating(expected.dtype) or expected.budget.mismatches == 0:
        return 0
    share = expected.budget.mismatches / max(1, expected.eager.size)
    return 2 + int(CAP_SLACK * share * compared)
