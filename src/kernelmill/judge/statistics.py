"""Statistics of interleaved timings: a robust mean, and intervals of ratios."""

import numpy as np
import numpy.typing as npt

from kernelmill.records.verdict import CONFIDENCE, Interval

_RESAMPLES = 2000

Timings = npt.NDArray[np.float64]


def typical_time(timings: Timings) -> float:
    """The geometric mean of the faster half, since disturbances only slow down."""
    return float(np.exp(_faster_half(np.log(timings)[None, :])[0]))


def ratio_interval(baseline: Timings, candidate: Timings, seed: int = 0) -> Interval:
    """Bootstrap interval of typical_time(baseline) / typical_time(candidate).

    Rounds are resampled as pairs, because a disturbance affects both sides of its round.
    """
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, baseline.size, (_RESAMPLES, baseline.size))
    logs = np.log(baseline), np.log(candidate)
    ratios = _faster_half(logs[0][picks]) - _faster_half(logs[1][picks])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(ratios, [tail, 1 - tail])
    middle = typical_time(baseline) / typical_time(candidate)
    return Interval(middle, min(middle, float(np.exp(low))), max(middle, float(np.exp(high))))


def _faster_half(rows: Timings) -> Timings:
    half = (rows.shape[1] + 1) // 2
    return np.asarray(np.partition(rows, half - 1, axis=1)[:, :half].mean(axis=1))
