"""Which decisions to take: what is shown is evidence of what each choice is worth.

The logarithm of a kernel's speed is taken to be a sum over its choices and a level of its task, and
every hint observes a part of that sum. The choices are drawn from what is then believed: where much
is known the best is taken, where little is known every choice gets its chance.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.base import Hint, Proposal
from kernelmill.generators.composer.decisions import Choices, is_open, same_choice
from kernelmill.generators.decisions import Choice, Decisions, was_tried

_Row = npt.NDArray[np.floating]

_SPREAD = 0.5
"""How much a choice may matter before anything is known: a factor of e to this."""
_USUAL = 0.4
"""What the usual choice has in advance, ..."""
_USUAL_SPREAD = 0.25
"""... for somebody who knows what is usual and expects less of the others."""
_OWN_NOISE = 0.15
"""How far an attempt on this very task may be from the sum of its choices."""
_FOREIGN_NOISE = 1.0
"""The same for what was learned elsewhere."""
_LEVEL_SPREAD = 1.0
"""How different tasks are, whatever is chosen."""
_OWN = ""
"""The name of this task among those with a level."""
_CERTAIN = 0.96
"""An outcome is taken for this at most: a refusal counts as about seven times slower."""
_DRAWS = 20
_BLIND_DRAWS = 100


class _Places(NamedTuple):
    """In which column of the model what stands."""

    choices: Mapping[tuple[str, Choice], int]
    levels: Mapping[str, int]
    """Of other tasks by name, and of this one."""

    @property
    def width(self) -> int:
        return len(self.choices) + len(self.levels)


class _Belief(NamedTuple):
    """What is known of the worth of every choice, in the order of the columns."""

    columns: tuple[tuple[str, Choice], ...]
    mean: _Row
    root: _Row
    """A matrix that makes independent lots into lots of this belief."""

    def draw(self, dice: np.random.Generator | None) -> Decisions:
        """The best choices by one lot, or by the mean without dice; the usual where it is even."""
        lots = 0.0 if dice is None else self.root @ dice.standard_normal(self.mean.size)
        best: dict[str, tuple[float, Choice]] = {}
        for (name, choice), worth in zip(self.columns, self.mean + lots, strict=False):
            if name not in best or worth > best[name][0]:
                best[name] = (float(worth), choice)
        return {name: choice for name, (_, choice) in best.items()}


def choose(proposal: Proposal, choices: Choices, cold: bool = False) -> Decisions:
    """A choice for every open decision; the same again for the same proposal.

    Whoever is `cold` does not know what is usual.
    """
    belief = _believe(proposal, choices, cold)
    if proposal.seed == 0:
        return belief.draw(None)
    dice = np.random.default_rng(proposal.seed)
    tried = [hint.decisions for hint in proposal.context if hint.decisions]
    if proposal.parent is not None:
        tried.append(proposal.parent.decisions)
    for _ in range(_DRAWS):
        drawn = belief.draw(dice)
        if not was_tried(drawn, tried):
            return drawn
    return _anything_new(choices, tried, dice)


def _believe(proposal: Proposal, choices: Choices, cold: bool) -> _Belief:
    """The posterior of a linear model with normal noise. The last columns are tasks' levels."""
    columns = tuple((name, choice) for name, some in choices.items() for choice in some)
    levels = {_OWN: len(columns)}
    for hint in proposal.context:
        levels.setdefault(hint.level_of, len(columns) + len(levels))
    spread = _SPREAD if cold else _USUAL_SPREAD
    before = np.zeros(len(columns) + len(levels))
    if not cold:
        usual = [_USUAL * (choices[name][0] == choice) for name, choice in columns]
        before[: len(columns)] = usual
    deviations = [spread] * len(columns) + [_LEVEL_SPREAD] * len(levels)
    precision = np.diag(np.power(deviations, -2.0))
    weighted = precision @ before
    places = _Places({column: index for index, column in enumerate(columns)}, levels)
    for hint in proposal.context:
        row, noise = _observed(hint, _at_hand(proposal), choices, places)
        if hint.outcome is not None and row.any():
            observed = np.arctanh(np.clip(hint.outcome, -_CERTAIN, _CERTAIN))
            precision += np.outer(row, row) / noise**2
            weighted += row * observed / noise**2
    mean = np.linalg.solve(precision, weighted)
    return _Belief(columns, mean, np.linalg.inv(np.linalg.cholesky(precision)).T)


def _at_hand(proposal: Proposal) -> Decisions:
    parent = proposal.parent
    return parent.decisions if parent is not None and parent.verdict.passed else {}


def _observed(
    hint: Hint, at_hand: Decisions, choices: Choices, places: _Places
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


def _anything_new(
    choices: Choices, tried: Sequence[Decisions], dice: np.random.Generator
) -> Decisions:
    """By lot among all there is; something tried only where hardly anything else is left."""
    drawn: Decisions = {}
    for _ in range(_BLIND_DRAWS):
        drawn = {name: some[int(dice.integers(len(some)))] for name, some in choices.items()}
        if not was_tried(drawn, tried):
            break
    return drawn
