"""What a set of paired timings says about a ratio."""

import numpy as np
import numpy.typing as npt

from kernelmill.judge.verdict import CONFIDENCE, Interval

_RESAMPLES = 2000
_TRIM = 0.2


def ratio_interval(
    baseline: npt.NDArray[np.float64], candidate: npt.NDArray[np.float64], seed: int = 0
) -> Interval:
    """Bootstrap interval of baseline / candidate from rounds measured side by side.

    The statistic is the trimmed mean of the rounds' log ratios: a round disturbed from outside
    counts little, and pairing cancels what drifts slowly.
    """
    logs = np.log(baseline / candidate)
    generator = np.random.default_rng(seed)
    picks = generator.integers(0, logs.size, (_RESAMPLES, logs.size))
    means = _trimmed_mean(logs[picks])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    middle = _trimmed_mean(logs[None, :])[0]
    return Interval(float(np.exp(middle)), float(np.exp(low)), float(np.exp(high)))


def _trimmed_mean(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    cut = int(rows.shape[1] * _TRIM)
    ordered = np.sort(rows, axis=1)
    kept = ordered[:, cut : rows.shape[1] - cut]
    return np.asarray(kept.mean(axis=1))
