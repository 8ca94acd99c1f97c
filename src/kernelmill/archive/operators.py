"""Operators that make a candidate from its parent, and the bandit that chooses among them."""

import enum
import random
from collections.abc import Collection, Sequence
from typing import NamedTuple

from kernelmill.archive.elites import Offspring, Outcome

_ELSEWHERE = 0.3
"""Weight of what an operator brought on other tasks."""
_PAYS = {Outcome.BEST: 1.0, Outcome.ELITE: 0.3}
_DECAY = 0.95


class Operator(enum.StrEnum):
    DRAFT = "draft"
    """Write a kernel while the island has none."""
    REPAIR = "repair"
    """Repair the last candidate of the island, which was refused."""
    EDIT = "edit"
    """Change the parent."""
    METHOD = "method"
    """Carry out a method that the rules allow for the parent."""
    CROSSOVER = "crossover"
    """Give the parent what another elite does differently."""
    REWRITE = "rewrite"
    """Write a whole kernel anew, in view of the elites."""


class _Prior(NamedTuple):
    successes: float
    failures: float


_PRIORS = {
    Operator.EDIT: _Prior(2.0, 2.0),
    Operator.METHOD: _Prior(1.5, 2.0),
    Operator.CROSSOVER: _Prior(1.0, 2.0),
    Operator.REWRITE: _Prior(1.0, 2.0),
    Operator.REPAIR: _Prior(1.0, 2.0),
}


def choose_operator(
    possible: Collection[Operator],
    here: Sequence[Offspring],
    elsewhere: Sequence[Offspring],
    rng: random.Random,
) -> Operator:
    """Thompson sampling by what each brought: on this task, on others, the latest counting most."""
    successes = {one: _PRIORS[one].successes for one in possible}
    failures = {one: _PRIORS[one].failures for one in possible}
    for weight, offspring in ((1.0, here), (_ELSEWHERE, elsewhere)):
        for age, one in enumerate(offspring):
            if one.operator not in successes:
                continue
            operator, share = Operator(one.operator), weight * _DECAY**age
            paid = _PAYS.get(one.outcome, 0.0)
            successes[operator] += share * paid
            failures[operator] += share * (1.0 - paid)
    draws = {one: rng.betavariate(successes[one], failures[one]) for one in sorted(possible)}
    return max(draws, key=lambda one: draws[one])
