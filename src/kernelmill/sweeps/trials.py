"""Measured combinations of a sweep."""

import math
from collections.abc import Iterable, Sequence

import msgspec

from kernelmill.archive.fitness import Fitness
from kernelmill.records.decisions import Decisions
from kernelmill.records.sweep import TrialPlan
from kernelmill.records.verdict import MARGIN


class SweepTrial(msgspec.Struct, frozen=True):
    """A combination that was judged."""

    attempt: int
    plan: TrialPlan
    fitness: Fitness | None
    """None where it was refused."""

    @property
    def choices(self) -> Decisions:
        return self.plan.choices

    @property
    def has_won(self) -> bool:
        """Whether it is faster than the best combination before it."""
        if self.fitness is None:
            return False
        return self.plan.bar is None or self.fitness.level > self.plan.bar + math.log1p(MARGIN)


def fastest(trials: Iterable[SweepTrial]) -> SweepTrial | None:
    """The trial that passed with the highest level, the first of equal ones."""
    ranked = ranking(trials)
    return ranked[0] if ranked else None


def ranking(trials: Iterable[SweepTrial]) -> list[SweepTrial]:
    """The trials that passed, the fastest first."""
    return sorted((one for one in trials if one.fitness is not None), key=_rank)


def is_tried(choices: Decisions, trials: Sequence[SweepTrial]) -> bool:
    return any(one.choices == choices for one in trials)


def _rank(trial: SweepTrial) -> tuple[float, int]:
    assert trial.fitness is not None
    return -trial.fitness.level, trial.attempt
