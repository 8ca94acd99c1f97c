"""Samples of interleaved timing, and the rules for ending it."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.judge.protocol import OutputTensor
from kernelmill.judge.roofline import LatencyFloor
from kernelmill.judge.runner_handle import RunnerHandle
from kernelmill.judge.statistics import ratio_interval, typical_time
from kernelmill.records.verdict import Interval, Latency, Profile

REPEATS = 4
"""How many times the timed rounds may be repeated while it is unclear which side is faster."""
_NARROW_WIDTH = 0.03
"""Relative width at which an interval is narrow enough."""
_CLEAR_DISTANCE = 0.05
"""Distance from 1 at which more rounds cannot change what an interval says."""
_HOPELESS_SPEED = 0.5
_HOPELESS_ROUNDS = 6
"""A candidate that is below this share of the baseline's speed in this many rounds, and in every
round, is not timed further."""


class TimedCallRefused(Exception):
    """A timed call did what no call may do."""

    kind = "timed-call"
    hint = ""


class TimedAnswerWrong(TimedCallRefused):
    """The output of a timed call was wrong at the moment the call returned."""

    kind = "timed-answer"
    hint = "finish all work before returning, and compute every call from its own inputs"


class TimedOutputsShared(TimedCallRefused):
    """Outputs of several calls, or an output and an input, are one memory."""

    kind = "aliasing"
    hint = "allocate the outputs in every call"


class StateKept(TimedCallRefused):
    """A call has changed variables that outlive it."""

    kind = "state"
    hint = "keep nothing between calls: what a call needs is a local variable or an argument"


class TooManyProcessors(TimedCallRefused):
    """More processors worked for a call than it has threads."""

    kind = "processors"
    hint = "use OpenMP's default number of threads"


class TimedRunner(NamedTuple):
    """A runner that takes part in interleaved timing."""

    runner: RunnerHandle
    outputs: list[OutputTensor]
    """Types and strides of its outputs."""


class Samples(NamedTuple):
    """Nanoseconds per call, one element per round, and a profile of the candidate."""

    candidate: npt.NDArray[np.float64]
    baselines: list[npt.NDArray[np.float64]]
    disturbed: float
    """Share of rounds in which a runner waited for a processor."""
    profile: Profile


def outputs_overlap(calls: list[list[int]], outputs: list[OutputTensor]) -> bool:
    """Whether any two outputs of some calls, given by their addresses, have memory in common."""
    spans = sorted(
        (address, address + output.extent)
        for pointers in calls
        for address, output in zip(pointers, outputs, strict=True)
        if output.extent
    )
    return any(end > start for (_, end), (start, _) in pairwise(spans))


def is_hopeless(candidate: list[float], eager: list[float]) -> bool:
    """Whether the candidate is so much slower in every round that more rounds are pointless."""
    slower = all(e < _HOPELESS_SPEED * c for c, e in zip(candidate, eager, strict=True))
    return slower and len(candidate) >= _HOPELESS_ROUNDS


def is_settled(samples: Samples, rounds: int) -> bool:
    """Whether there are enough undisturbed rounds for a narrow interval, or for a clear one."""
    interval = ratio_interval(samples.baselines[0], samples.candidate)
    narrow = interval.high - interval.low < _NARROW_WIDTH * interval.ratio
    return samples.candidate.size >= rounds / 2 and (_is_clear(interval) or narrow)


def is_clear(samples: Samples, rounds: int) -> bool:
    """Whether half of the rounds already say which side is faster: the others are left out."""
    if samples.candidate.size < rounds / 2:
        return False
    return all(_is_clear(ratio_interval(row, samples.candidate)) for row in samples.baselines)


def _is_clear(interval: Interval) -> bool:
    return interval.low > 1 + _CLEAR_DISTANCE or interval.high < 1 - _CLEAR_DISTANCE


def summarise_latency(samples: Samples, floor: LatencyFloor, calls: int) -> Latency:
    """Typical times per call, and intervals of their ratios; `calls` are those of a round."""
    milliseconds = [typical_time(row) / 1e6 for row in samples.baselines]
    ratios = [ratio_interval(row, samples.candidate) for row in samples.baselines]
    return Latency(
        candidate_ms=typical_time(samples.candidate) / 1e6,
        baseline_ms=milliseconds[0],
        compile_ms=milliseconds[1] if len(ratios) > 1 else None,
        over_baseline=ratios[0],
        over_compile=ratios[1] if len(ratios) > 1 else None,
        floor_ms=floor.memory,
        arithmetic_ms=floor.arithmetic,
        rounds=samples.candidate.size,
        disturbed=samples.disturbed,
        calls_per_round=calls,
    )
