"""Calibration of the surrogate: what it expected of combinations beside what was measured."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from kernelmill.sweeps.trials import SweepTrial

_DEVIATIONS = 1.645
"""Half width of an interval that holds 90% of a normal distribution."""


class SurrogateCalibration(NamedTuple):
    forecasts: int
    """Trials with a forecast."""
    expected_wins: float
    """Sum of the probabilities that they beat the best combination before them."""
    wins: int
    brier: float
    """Mean squared difference of probability and outcome: 0 for an oracle, 0.25 for a coin."""
    passed: int
    """Forecasts of trials that passed."""
    within: int
    """Those whose measured level lay in the interval that should hold 90% of them."""
    checked: int
    """Combinations that were sure to lose, and were measured all the same."""
    checked_wins: int

    def __str__(self) -> str:
        return (
            f"{self.forecasts} forecasts: {self.expected_wins:.1f} wins expected, {self.wins} "
            f"came (Brier score {self.brier:.3f}); {self.within} of {self.passed} levels in "
            f"their 90% interval; of {self.checked} checked combinations that were sure to lose, "
            f"{self.checked_wins} won"
        )


def calibrate_surrogate(trials: Iterable[SweepTrial]) -> SurrogateCalibration | None:
    """None where there was no forecast."""
    known = [one for one in trials if one.plan.chance is not None]
    if not known:
        return None
    chances = [one.plan.chance or 0.0 for one in known]
    wins = [one.has_won for one in known]
    passed = [one for one in known if one.fitness is not None]
    checked = [one for one in known if one.plan.doubted]
    squares = [(chance - won) ** 2 for chance, won in zip(chances, wins, strict=True)]
    return SurrogateCalibration(
        len(known),
        sum(chances),
        sum(wins),
        sum(squares) / len(squares),
        len(passed),
        sum(_is_within(one) for one in passed),
        len(checked),
        sum(one.has_won for one in checked),
    )


def _is_within(trial: SweepTrial) -> bool:
    plan, fitness = trial.plan, trial.fitness
    if fitness is None or plan.expected is None or plan.deviation is None:
        return False
    spread = math.hypot(plan.deviation, fitness.error)
    return abs(fitness.level - plan.expected) <= _DEVIATIONS * spread
