"""Noisy-OR model of which choice makes a kernel fail, fitted by EM over past verdicts.

Every choice ruins a kernel with a probability of its own, whatever the others are. So a kernel that
passed clears all of its choices, and the blame for a refused one falls on those least cleared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kernelmill.generators.composer.search.columns import Column
from kernelmill.records.decisions import same_choice
from kernelmill.records.proposal import REFUSED, Hint

_Row = npt.NDArray[np.floating]

_PRIOR_WEIGHT = 0.4
"""Pseudo-count of the prior belief about a choice."""
_DEFAULT_WEIGHT = 1.0
"""Pseudo-count of the prior belief that a default is safe."""
_LEAK = 0.05
"""Probability of a failure that no choice is to blame for."""
_MOST_CASES = 8
"""A hint about several kernels counts as this many at most."""
_STEPS = 20


class _Case(NamedTuple):
    choices: _Row
    """1 for each that it took."""
    weight: float
    refused: bool


def fit_failure_model(context: Sequence[Hint], columns: Sequence[Column], defaults: _Row) -> _Row:
    """The logarithm of the probability that a choice lets a kernel pass."""
    cases = _cases(context, columns)
    ruined_before = _PRIOR_WEIGHT * _prior_failure(cases, columns)
    fine_before = np.where(defaults, _DEFAULT_WEIGHT, _PRIOR_WEIGHT - ruined_before)
    took = np.array([case.choices for case in cases]).reshape(len(cases), len(columns))
    weights = np.array([case.weight for case in cases])
    refused = weights * [case.refused for case in cases]
    kernels = ruined_before + fine_before + weights @ took
    fatal = ruined_before / kernels
    for _ in range(_STEPS):
        explained = 1.0 - (1.0 - _LEAK) * np.exp(took @ np.log1p(-fatal))
        fatal = (ruined_before + refused / explained @ took * fatal) / kernels
    chances: _Row = np.log1p(-fatal)
    return chances


def _prior_failure(cases: Sequence[_Case], columns: Sequence[Column]) -> float:
    """Probability of every choice alike that explains as many refusals as there are."""
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
