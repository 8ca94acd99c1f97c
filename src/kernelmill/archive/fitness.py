"""Fitness of a kernel: its speed over all of its measurements, and the error of that.

A fitness is made of measured speeds and of nothing else: a boolean, a time-out or an infinite ratio
raises an error instead of becoming one.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec

from kernelmill.records.verdict import MARGIN, Verdict

_PRIOR_MEASUREMENTS = 2.0
"""Weight of the prior belief that two measurements of one kernel differ by MARGIN."""


class Fitness(msgspec.Struct, frozen=True):
    level: float
    """Logarithm of the speed as a multiple of the baseline's."""
    error: float
    """Standard error of the level; 0 where a model computed it."""
    measurements: int

    def __post_init__(self) -> None:
        for value in (self.level, self.error):
            if type(value) is not float or not math.isfinite(value):
                raise TypeError(f"{value!r} is no fitness: it is not a finite float")
        if self.error < 0 or self.measurements < 1:
            raise ValueError("a fitness has at least one measurement and no negative error")

    @property
    def speed(self) -> float:
        return math.exp(self.level)

    @property
    def is_confirmed(self) -> bool:
        """Whether it rests on more than the measurement that it was chosen by."""
        return self.measurements > 1 or self.error == 0

    def may_beat(self, other: "Fitness", deviations: float) -> bool:
        """Whether it could be faster than the other by half of MARGIN, as far as measurements
        tell."""
        error = math.hypot(self.error, other.error)
        return self.level - other.level + deviations * error > math.log1p(MARGIN / 2)

    def is_faster(self, other: "Fitness") -> bool:
        return self.level > other.level


def measured_speed(verdict: Verdict | None) -> float | None:
    """The speed that a verdict measured; None where it is no measurement of a correct kernel."""
    if verdict is None or not verdict.passed or verdict.latency is None or verdict.is_lost:
        return None
    interval = verdict.latency.over_baseline
    return None if interval.degenerate else interval.ratio


def fitness_of(speeds: Sequence[float], noise: float) -> Fitness:
    """The fitness that measurements show, the first of them first.

    The first decided whether there would be others, so it does not count beside them.
    """
    levels = _levels(speeds)
    counted = levels[1:] or levels
    return Fitness(math.fsum(counted) / len(counted), noise / math.sqrt(len(counted)), len(levels))


def pooled_noise(kernels: Iterable[Sequence[float]]) -> float:
    """Standard deviation of one measurement's level, from kernels measured several times."""
    squares, degrees = _PRIOR_MEASUREMENTS * MARGIN**2, _PRIOR_MEASUREMENTS
    for speeds in filter(None, kernels):
        levels = _levels(speeds)
        mean = math.fsum(levels) / len(levels)
        squares += math.fsum((level - mean) ** 2 for level in levels)
        degrees += len(levels) - 1
    return math.sqrt(squares / degrees)


def _levels(speeds: Sequence[float]) -> list[float]:
    if any(type(speed) is not float or not 0 < speed < math.inf for speed in speeds):
        raise TypeError(f"{list(speeds)!r} are no measured speeds")
    return [math.log(speed) for speed in speeds]
