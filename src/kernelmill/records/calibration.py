"""Calibration of predictions: the speed that was expected beside the speed that was measured."""

import re
import statistics
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

_FACTOR = re.compile(r"(\d+(?:\.\d+)?)\s*(?:x\b|times\b|\N{MULTIPLICATION SIGN})", re.IGNORECASE)
_NEAR = 1.25
"""A prediction within this factor of what was measured is called right."""


class Prediction(msgspec.Struct, frozen=True):
    """What was predicted of a judged attempt, and what came of it."""

    prediction: str
    ratio: float | None
    """Speed as a multiple of the baseline's; None where it was refused."""
    parent_ratio: float | None
    """The same of the attempt it started from; None where that did not pass, or there was none."""
    model: str = ""

    @property
    def expected(self) -> float | None:
        return expected_factor(self.prediction)

    @property
    def measured(self) -> float | None:
        """Speed as a multiple of the start point's, or of the baseline's without one."""
        return None if self.ratio is None else self.ratio / (self.parent_ratio or 1.0)


class Calibration(NamedTuple):
    """How a writer's predictions came out."""

    predictions: int
    """Predictions that name a factor."""
    refused: int
    near: int
    """Predictions that were right to within a quarter."""
    median: float | None
    """Median of measured over expected speed; None where nothing passed."""

    def __str__(self) -> str:
        text = (
            f"{self.predictions} predictions: {self.refused} refused, {self.near} right to within "
            "a quarter"
        )
        if self.median is None:
            return text
        return f"{text}; measured speed was {self.median:.2f} times the expected in the median"


NOT_CALIBRATED = Calibration(0, 0, 0, None)


def expected_factor(prediction: str) -> float | None:
    """The first factor that a prediction names, such as 1.5 in `1.5x eager`."""
    found = _FACTOR.search(prediction)
    factor = float(found[1]) if found else 0.0
    return factor or None


def calibrate(predictions: Iterable[Prediction]) -> Calibration:
    """Calibration of all predictions that name a factor."""
    named = [(one, one.expected) for one in predictions]
    count, refused, shares = 0, 0, []
    for one, expected in named:
        if expected is None:
            continue
        count += 1
        if one.measured is None:
            refused += 1
        else:
            shares.append(one.measured / expected)
    near = sum(1 / _NEAR <= share <= _NEAR for share in shares)
    return Calibration(count, refused, near, statistics.median(shares) if shares else None)
