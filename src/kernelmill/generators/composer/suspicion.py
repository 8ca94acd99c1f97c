"""Whether a kernel passes with each choice.

Every choice is taken to ruin a kernel with a chance of its own, whatever the others are. So one
that passed clears all of its choices, and the blame for one that was refused falls on those of its
choices that are least cleared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.composer.decisions import Column
from kernelmill.records.decisions import same_choice
from kernelmill.records.proposal import REFUSED, Hint

_Row = npt.NDArray[np.floating]

_KERNELS = 0.4
"""As much as this many kernels is worth what is believed of a choice before any was seen, ..."""
_USUAL_KERNELS = 1.0
"""... and for somebody who knows that it is usual: that it is fine."""
_OTHER_CAUSES = 0.05
"""The chance that no choice is to blame."""
_MOST_CASES = 8
"""As which many kernels a hint counts at most."""
_STEPS = 20


class _Case(NamedTuple):
    choices: _Row
    """1 for each that it took."""
    weight: float
    refused: bool


def passing(context: Sequence[Hint], columns: Sequence[Column], usual: _Row) -> _Row:
    """The logarithm of the chance that a choice lets a kernel pass.

    Who is to blame is found by expectation and maximisation.
    """
    cases = _cases(context, columns)
    ruined_before = _KERNELS * _first_suspicion(cases, columns)
    fine_before = np.where(usual, _USUAL_KERNELS, _KERNELS - ruined_before)
    took = np.array([case.choices for case in cases]).reshape(len(cases), len(columns))
    weights = np.array([case.weight for case in cases])
    refused = weights * [case.refused for case in cases]
    kernels = ruined_before + fine_before + weights @ took
    fatal = ruined_before / kernels
    for _ in range(_STEPS):
        explained = 1.0 - (1.0 - _OTHER_CAUSES) * np.exp(took @ np.log1p(-fatal))
        fatal = (ruined_before + refused / explained @ took * fatal) / kernels
    chances: _Row = np.log1p(-fatal)
    return chances


def _first_suspicion(cases: Sequence[_Case], columns: Sequence[Column]) -> float:
    """That of every choice alike, to explain as many refusals as there are."""
    share = (0.5 + sum(case.refused for case in cases)) / (1.0 + len(cases))
    decisions = len({name for name, _ in columns})
    return float(1.0 - (1.0 - share) ** (1.0 / max(1, decisions)))


def _cases(context: Sequence[Hint], columns: Sequence[Column]) -> list[_Case]:
    cases = []
    for hint in context:
        choices = np.array([_says(hint, column) for column in columns], float)
        if hint.outcome is not None and choices.any():
            weight = float(min(hint.cases, _MOST_CASES))
            cases.append(_Case(choices, weight, hint.outcome <= REFUSED))
    return cases


def _says(hint: Hint, column: Column) -> bool:
    name, choice = column
    return name in hint.decisions and same_choice(hint.decisions[name], choice)
