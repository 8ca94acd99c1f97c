"""How fast a kernel is with each choice.

The logarithm of a kernel's speed is taken to be a sum over its choices and a level of its task, and
every hint about a kernel that passed observes a part of that sum.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.composer.decisions import Column
from kernelmill.records.decisions import Choice, Choices, Decisions, is_open, same_choice
from kernelmill.records.proposal import REFUSED, Hint, Proposal

_Row = npt.NDArray[np.floating]

_SPREAD = 0.5
"""How much a choice may matter before anything is known: a factor of e to this."""
_USUAL = 0.6
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
"""An outcome is taken for this at most: a factor of about seven."""


class _Places(NamedTuple):
    """In which column of the model what stands."""

    choices: Mapping[Column, int]
    levels: Mapping[str, int]
    """Of other tasks by name, and of this one."""

    @property
    def width(self) -> int:
        return len(self.choices) + len(self.levels)


class Speed(NamedTuple):
    """What is believed of the choices' parts in it, and behind them of the levels."""

    choices: int
    mean: _Row
    root: _Row
    """A matrix that makes independent lots into lots of this belief."""

    def draw(self, dice: np.random.Generator | None) -> _Row:
        """The part of each choice by one lot, or the mean without dice."""
        lots = 0.0 if dice is None else self.root @ dice.standard_normal(self.mean.size)
        return (self.mean + lots)[: self.choices]


def expect(
    proposal: Proposal, choices: Choices, columns: Sequence[Column], usual: _Row | None
) -> Speed:
    """The posterior of a linear model with normal noise; `usual` is None for who is cold."""
    levels = {_OWN: len(columns)}
    for hint in proposal.context:
        levels.setdefault(hint.level_of, len(columns) + len(levels))
    spread = _SPREAD if usual is None else _USUAL_SPREAD
    before = np.zeros(len(columns) + len(levels))
    if usual is not None:
        before[: len(columns)] = _USUAL * usual
    deviations = [spread] * len(columns) + [_LEVEL_SPREAD] * len(levels)
    precision = np.diag(np.power(deviations, -2.0))
    weighted = precision @ before
    places = _Places({column: index for index, column in enumerate(columns)}, levels)
    for hint in proposal.context:
        if hint.outcome is None or hint.outcome <= REFUSED:
            continue
        row, noise = _observed(hint, _at_hand(proposal), choices, places)
        if row.any():
            observed = np.arctanh(np.clip(hint.outcome, -_CERTAIN, _CERTAIN))
            precision += np.outer(row, row) / noise**2
            weighted += row * observed / noise**2
    mean = np.linalg.solve(precision, weighted)
    return Speed(len(columns), mean, np.linalg.inv(np.linalg.cholesky(precision)).T)


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
