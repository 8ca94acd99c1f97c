"""Which decisions to take: what is shown is evidence of what each choice is worth.

Two questions are asked of every choice: does a kernel pass with it (`suspicion`), and how fast is
it then (`speed`). The choices are drawn from what is believed: where much is known the best is
taken, where little is known every choice gets its chance.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.composer.decisions import Column
from kernelmill.generators.composer.speed import Speed, expect
from kernelmill.generators.composer.suspicion import passing
from kernelmill.generators.composer.tried import Tried
from kernelmill.records.decisions import Choices, Decisions, is_open
from kernelmill.records.proposal import REFUSED, Proposal, Stage

_Row = npt.NDArray[np.floating]

_SHUNNED = 4.0
"""How often the chance to pass counts: an attempt that is refused teaches nothing about speed."""
_DRAFTED = 40.0
"""How much more often in a draft, which has nothing to lose but its chance to pass, where all that
is shown was refused."""
_DRAWS = 20
_BLIND_DRAWS = 100


class _Belief(NamedTuple):
    columns: Sequence[Column]
    speed: Speed
    passing: _Row
    """The logarithm of each choice's chance to."""
    caution: float
    """How often that counts."""

    def draw(self, dice: np.random.Generator | None) -> "_Lot":
        """By one lot, or by the mean without dice."""
        worths = self.speed.draw(dice) + self.caution * self.passing
        return _Lot(dict(zip(self.columns, worths.tolist(), strict=True)))


class _Lot(NamedTuple):
    worths: Mapping[Column, float]
    """Of each choice."""

    def best(self) -> Decisions:
        """The best choices; the usual where it is even."""
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

    Whoever is `cold` does not know what is usual.
    """
    solution = _solution(proposal, choices, tried)
    if solution is not None:
        return solution
    belief = _believe(proposal, choices, cold)
    if proposal.seed == 0:
        lot = belief.draw(None)
        options = (lot.best(), *lot.nearly_best())
        return next((one for one in options if one not in tried), lot.best())
    dice = np.random.default_rng(proposal.seed)
    for _ in range(_DRAWS):
        lot = belief.draw(dice)
        if lot.best() not in tried:
            return lot.best()
    for nearly in lot.nearly_best():
        if nearly not in tried:
            return nearly
    return _anything_new(choices, tried, dice)


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


def _believe(proposal: Proposal, choices: Choices, cold: bool) -> _Belief:
    columns = tuple((name, choice) for name, some in choices.items() for choice in some)
    usual = np.array([not cold and choices[name][0] == choice for name, choice in columns])
    return _Belief(
        columns,
        expect(proposal, choices, columns, None if cold else usual),
        passing(proposal.context, columns, usual),
        _caution(proposal),
    )


def _caution(proposal: Proposal) -> float:
    if proposal.stage is not Stage.DRAFT:
        return _SHUNNED
    told = [hint.outcome for hint in proposal.context if hint.decisions]
    refused = sum(outcome is not None and outcome <= REFUSED for outcome in told)
    return _SHUNNED + _DRAFTED * refused / (1 + len(told))


def _anything_new(choices: Choices, tried: Tried, dice: np.random.Generator) -> Decisions:
    """By lot among all there is; something tried only where hardly anything else is left."""
    drawn: Decisions = {}
    for _ in range(_BLIND_DRAWS):
        drawn = {name: some[int(dice.integers(len(some)))] for name, some in choices.items()}
        if drawn not in tried:
            break
    return drawn
