"""Ranking surrogate of a sweep: a Gaussian process over its combinations.

The level of a combination is a constant plus a process whose covariance falls with the number of
parameters that differ. A number that is far from another differs more than its neighbour. The
forecast is averaged over scales and lengths, each weighted by how well it explains the trials.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.records.decisions import Choice, Decisions
from kernelmill.records.sweep import Parameter, SweepSpace
from kernelmill.records.verdict import MARGIN
from kernelmill.sweeps.trials import SweepTrial

_Array = npt.NDArray[np.float64]

_SCALES = (0.05, 0.15, 0.4, 1.0)
"""Standard deviations of the process."""
_LENGTHS = (0.5, 1.0, 2.0, 4.0)
"""Distances, in parameters that differ, over which it is correlated."""
_LEVEL_DEVIATION = 1.0
"""Prior standard deviation of the constant around the mean of the trials."""
_LEAST_ERROR = 0.003
_PRIOR_PASSED, _PRIOR_TRIALS = 1.8, 2.0
"""Pseudo-counts of combinations that passed, and of all."""
_erf = np.vectorize(math.erf, otypes=[np.float64])


class Forecast(NamedTuple):
    """What is expected of combinations, one element each."""

    mean: _Array
    deviation: _Array
    chance: _Array
    """Probability that one passes and beats the bar by more than MARGIN."""
    improvement: _Array
    """Expected improvement of the level over the bar."""


class _Posterior(NamedTuple):
    mean: _Array
    deviation: _Array
    log_likelihood: float


class Surrogate:
    """Fitted to the trials of a sweep, at least one of which passed."""

    def __init__(self, space: SweepSpace, trials: Sequence[SweepTrial]) -> None:
        self._parameters = space.parameters
        self._all = self._places([one.choices for one in trials])
        self._passed = np.array([one.fitness is not None for one in trials])
        fitness = [one.fitness for one in trials if one.fitness is not None]
        self._levels = np.array([one.level for one in fitness])
        self._errors = np.array([max(_LEAST_ERROR, one.error) for one in fitness])
        self.bar = float(self._levels.max())

    def forecast(self, combinations: Sequence[Decisions]) -> Forecast:
        places = self._places(combinations)
        near = self._distances(places, self._all)
        similar = np.exp(-near)
        passing = (_PRIOR_PASSED + similar @ self._passed) / (_PRIOR_TRIALS + similar.sum(axis=1))
        known = self._distances(self._all[self._passed], self._all[self._passed])
        parts = [
            self._posterior(known, near[:, self._passed], scale, length)
            for scale in _SCALES
            for length in _LENGTHS
        ]
        logs = np.array([one.log_likelihood for one in parts])
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        means = np.array([one.mean for one in parts])
        deviations = np.array([one.deviation for one in parts])
        mean = weights @ means
        variance = weights @ (deviations**2 + means**2) - mean**2
        wins = weights @ _above(means, deviations, self.bar + math.log1p(MARGIN))
        gains = weights @ _improvement(means, deviations, self.bar)
        return Forecast(mean, np.sqrt(np.maximum(variance, 0.0)), passing * wins, passing * gains)

    def _posterior(self, known: _Array, near: _Array, scale: float, length: float) -> _Posterior:
        constant = _LEVEL_DEVIATION**2
        covariance = constant + scale**2 * np.exp(-known / length) + np.diag(self._errors**2)
        across = constant + scale**2 * np.exp(-near / length)
        root = np.linalg.cholesky(covariance)
        middle = float(self._levels.mean())
        whitened = np.linalg.solve(root, self._levels - middle)
        spread = np.linalg.solve(root, across.T)
        variance = constant + scale**2 - (spread**2).sum(axis=0)
        likelihood = -0.5 * float(whitened @ whitened) - float(np.log(np.diag(root)).sum())
        deviation = np.sqrt(np.maximum(variance, _LEAST_ERROR**2))
        return _Posterior(middle + whitened @ spread, deviation, likelihood)

    def _places(self, combinations: Sequence[Decisions]) -> _Array:
        """Coordinates: numbers by their rank among the choices, other choices one axis each."""
        rows = [
            [part for one in self._parameters for part in place(one, combination[one.name])]
            for combination in combinations
        ]
        return np.array(rows, dtype=np.float64).reshape(len(rows), -1)

    def _distances(self, ones: _Array, others: _Array) -> _Array:
        """Parameters that differ, each by at most 1."""
        apart: _Array = np.abs(ones[:, None, :] - others[None, :, :]).sum(axis=2)
        return apart


def place(parameter: Parameter, choice: Choice) -> list[float]:
    """Coordinates of a choice, such that two choices are at most 1 apart."""
    choices = parameter.choices
    if all(type(one) is int for one in choices) and len(choices) > 1:
        ranked = sorted(int(one) for one in choices)
        return [ranked.index(int(choice)) / (len(ranked) - 1)]
    return [0.5 if type(one) is type(choice) and one == choice else 0.0 for one in choices]


def _above(means: _Array, deviations: _Array, bar: float) -> _Array:
    """Probability that a normal variable exceeds the bar."""
    values: _Array = 0.5 * (1.0 - _erf((bar - means) / (deviations * math.sqrt(2.0))))
    return values


def _improvement(means: _Array, deviations: _Array, bar: float) -> _Array:
    """Expectation of the part of a normal variable above the bar."""
    apart = (means - bar) / deviations
    density = np.exp(-0.5 * apart**2) / math.sqrt(2.0 * math.pi)
    values: _Array = deviations * (apart * _above(means, deviations, bar) + density)
    return values
