"""Thompson sampler of decisions, from the failure model and the cost model.

Where much is known about a choice the best is taken. Where little is known every choice gets its
chance.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.composer.search.columns import Column
from kernelmill.generators.composer.search.cost_model import CostModel, fit_cost_model
from kernelmill.generators.composer.search.failure_model import fit_failure_model
from kernelmill.generators.composer.search.tried import Tried
from kernelmill.records.decisions import Choices, Decisions, is_open
from kernelmill.records.proposal import REFUSED, Proposal, Stage

_Row = npt.NDArray[np.floating]

_CAUTION = 4.0
"""Weight of the probability to pass: an attempt that is refused teaches nothing about speed."""
_DRAFT_CAUTION = 40.0
"""Further weight in a draft where all hints were refused: it has nothing else to lose."""
_SAMPLES = 20
_BLIND_SAMPLES = 100


class _Posterior(NamedTuple):
    columns: Sequence[Column]
    cost: CostModel
    passing: _Row
    """The logarithm of the probability that a kernel passes with a choice."""
    caution: float
    """Weight of that against speed."""

    def sample(self, rng: np.random.Generator | None) -> "_Sample":
        """One sample; the mean without a generator."""
        worths = self.cost.sample(rng) + self.caution * self.passing
        return _Sample(dict(zip(self.columns, worths.tolist(), strict=True)))


class _Sample(NamedTuple):
    worths: Mapping[Column, float]

    def best(self) -> Decisions:
        """The best choices; the default where it is even."""
        best: dict[str, Column] = {}
        for column, worth in self.worths.items():
            if column[0] not in best or worth > self.worths[best[column[0]]]:
                best[column[0]] = column
        return dict(best.values())

    def nearly_best(self) -> Iterator[Decisions]:
        """The same with one choice changed, the one that costs least first."""
        best = self.best()

        def loss(column: Column) -> float:
            name, _ = column
            return self.worths[name, best[name]] - self.worths[column]

        others = [(name, choice) for name, choice in self.worths if best[name] != choice]
        for name, choice in sorted(others, key=loss):
            yield best | {name: choice}


def choose(proposal: Proposal, choices: Choices, tried: Tried, cold: bool = False) -> Decisions:
    """A choice for every open decision; the same again for the same proposal.

    A `cold` sampler does not know the defaults.
    """
    solution = _solution(proposal, choices, tried)
    if solution is not None:
        return solution
    posterior = _fit(proposal, choices, cold)
    if proposal.seed == 0:
        sample = posterior.sample(None)
        options = (sample.best(), *sample.nearly_best())
        return next((one for one in options if one not in tried), sample.best())
    rng = np.random.default_rng(proposal.seed)
    for _ in range(_SAMPLES):
        sample = posterior.sample(rng)
        if sample.best() not in tried:
            return sample.best()
    for nearly in sample.nearly_best():
        if nearly not in tried:
            return nearly
    return _anything_new(choices, tried, rng)


def _solution(proposal: Proposal, choices: Choices, tried: Tried) -> Decisions | None:
    """What passed for the very task elsewhere, the fastest first: a draft begins with it."""
    if proposal.stage is not Stage.DRAFT:
        return None
    elsewhere = [hint for hint in proposal.context if hint.level_of == proposal.task.id]
    for hint in sorted(elsewhere, key=lambda hint: -(hint.outcome or 0.0)):
        told = {name: one for name, one in hint.decisions.items() if is_open(name, one, choices)}
        if told.keys() == choices.keys() and told not in tried:
            return told
    return None


def _fit(proposal: Proposal, choices: Choices, cold: bool) -> _Posterior:
    columns = tuple((name, choice) for name, some in choices.items() for choice in some)
    defaults = np.array([not cold and choices[name][0] == choice for name, choice in columns])
    return _Posterior(
        columns,
        fit_cost_model(proposal, choices, columns, None if cold else defaults),
        fit_failure_model(proposal.context, columns, defaults),
        _caution(proposal),
    )


def _caution(proposal: Proposal) -> float:
    if proposal.stage is not Stage.DRAFT:
        return _CAUTION
    told = [hint.outcome for hint in proposal.context if hint.decisions]
    refused = sum(outcome is not None and outcome <= REFUSED for outcome in told)
    return _CAUTION + _DRAFT_CAUTION * refused / (1 + len(told))


def _anything_new(choices: Choices, tried: Tried, rng: np.random.Generator) -> Decisions:
    """At random among all there is; something tried only where hardly anything else is left."""
    drawn: Decisions = {}
    for _ in range(_BLIND_SAMPLES):
        drawn = {name: some[int(rng.integers(len(some)))] for name, some in choices.items()}
        if drawn not in tried:
            break
    return drawn
