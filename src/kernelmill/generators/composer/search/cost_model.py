"""Bayesian linear model of how much each choice changes a kernel's speed.

The logarithm of the speed is a sum over the choices and a level of the task. Every hint about a
kernel that passed observes a part of that sum.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.composer.search.columns import Column
from kernelmill.records.decisions import Choice, Choices, Decisions, is_open, same_choice
from kernelmill.records.proposal import REFUSED, Hint, Proposal

_Row = npt.NDArray[np.floating]

_COLD_DEVIATION = 0.5
"""Prior standard deviation of a choice's effect, where the defaults are unknown."""
_DEFAULT_MEAN = 0.6
"""Prior mean of the effect of a default."""
_DEVIATION = 0.25
"""Prior standard deviation of a choice's effect, where the defaults are known."""
_OWN_NOISE = 0.15
"""Standard deviation of an attempt on this task around the sum of its choices."""
_FOREIGN_NOISE = 1.0
"""Standard deviation of what was learned on other tasks."""
_LEVEL_DEVIATION = 1.0
"""Prior standard deviation of a task's level."""
_OWN = ""
"""The name of this task among those with a level."""
_LARGEST_OUTCOME = 0.96
"""Outcomes are clipped to this, a factor of about seven."""


class _Columns(NamedTuple):
    """Columns of the design matrix."""

    choices: Mapping[Column, int]
    levels: Mapping[str, int]
    """Of other tasks by name, and of this one."""

    @property
    def width(self) -> int:
        return len(self.choices) + len(self.levels)


class CostModel(NamedTuple):
    """Posterior of the effects of the choices, and behind them of the levels."""

    choices: int
    mean: _Row
    root: _Row
    """A matrix whose product with its transpose is the covariance."""

    def sample(self, rng: np.random.Generator | None) -> _Row:
        """The effect of each choice from one sample; the mean without a generator."""
        noise = 0.0 if rng is None else self.root @ rng.standard_normal(self.mean.size)
        return (self.mean + noise)[: self.choices]


def fit_cost_model(
    proposal: Proposal, choices: Choices, columns: Sequence[Column], defaults: _Row | None
) -> CostModel:
    """The posterior, given the hints of a proposal. `defaults` marks columns; None if unknown."""
    levels = {_OWN: len(columns)}
    for hint in proposal.context:
        levels.setdefault(hint.level_of, len(columns) + len(levels))
    deviation = _COLD_DEVIATION if defaults is None else _DEVIATION
    prior = np.zeros(len(columns) + len(levels))
    if defaults is not None:
        prior[: len(columns)] = _DEFAULT_MEAN * defaults
    deviations = [deviation] * len(columns) + [_LEVEL_DEVIATION] * len(levels)
    precision = np.diag(np.power(deviations, -2.0))
    weighted = precision @ prior
    places = _Columns({column: index for index, column in enumerate(columns)}, levels)
    for hint in proposal.context:
        if hint.outcome is None or hint.outcome <= REFUSED:
            continue
        row, noise = _observed(hint, _at_hand(proposal), choices, places)
        if row.any():
            observed = np.arctanh(np.clip(hint.outcome, -_LARGEST_OUTCOME, _LARGEST_OUTCOME))
            precision += np.outer(row, row) / noise**2
            weighted += row * observed / noise**2
    mean = np.linalg.solve(precision, weighted)
    return CostModel(len(columns), mean, np.linalg.inv(np.linalg.cholesky(precision)).T)


def _at_hand(proposal: Proposal) -> Decisions:
    parent = proposal.parent
    return parent.decisions if parent is not None and parent.verdict.passed else {}


def _observed(
    hint: Hint, at_hand: Decisions, choices: Choices, places: _Columns
) -> tuple[_Row, float]:
    """What a hint is a measurement of, and how exact it is.

    An attempt on this task is compared with the start point, choice by choice. Whatever comes from
    elsewhere is compared with the other choices there are; how fast a kernel of another task is
    says as much of that task as of its choices.
    """
    row = np.zeros(places.width)
    own = hint.item is None
    for name, choice in hint.decisions.items():
        if not is_open(name, choice, choices) or (own and at_hand.get(name) == choice):
            continue
        if own and is_open(name, at_hand.get(name), choices):
            others: Sequence[Choice] = (at_hand[name],)
        else:
            others = [other for other in choices[name] if not same_choice(other, choice)]
        row[places.choices[name, choice]] += 1.0
        for other in others:
            row[places.choices[name, other]] -= 1.0 / len(others)
    if row.any() and ((own and not at_hand) or hint.level_of):
        row[places.levels[hint.level_of]] = 1.0
    return row, _OWN_NOISE if own else _FOREIGN_NOISE
