"""The next combination of a sweep, or its end."""

import random
from collections.abc import Callable, Sequence

import numpy as np

from kernelmill.records.decisions import Decisions
from kernelmill.records.sweep import SweepSettings, SweepSpace, TrialPlan
from kernelmill.sweeps.optuna_sampler import OptunaSampler
from kernelmill.sweeps.surrogate import Surrogate, place
from kernelmill.sweeps.trials import SweepTrial, fastest, is_tried

SURE = 0.02
"""Chance to win below which a combination is skipped."""
_ENOUGH = 0.2
"""Sum of the chances of all that is left below which a sweep ends."""
_LEAST_TRIALS = 4
"""Trials that passed, before which nothing is skipped."""
_CHECKED = 0.1
"""Share of the trials that go to a combination that was to be skipped: to check the surrogate."""
_MOST_IN_VAIN = 3
"""Refused trials after which a sweep is given up, where none has passed."""
_POOL = 1024
"""Combinations that are compared, of a space that has more."""


def plan_trial(
    sweep: int,
    space: SweepSpace,
    trials: Sequence[SweepTrial],
    settings: SweepSettings,
    seed: int,
    is_known: Callable[[Decisions], bool] = lambda _: False,
) -> TrialPlan | None:
    """The next combination; None where all that is left is sure to lose together, or was tried.

    `is_known` tells of further combinations that need no measurement.
    """
    rng = random.Random(seed)
    pool = _pool(space, trials, rng)
    untried = [one for one in pool if not is_tried(one, trials) and not is_known(one)]
    if not untried:
        return None
    if not any(one.fitness is not None for one in trials):
        return _blind(sweep, space, trials, untried)
    surrogate = Surrogate(space, trials)
    forecast = surrogate.forecast(untried)
    passed = sum(one.fitness is not None for one in trials)
    sure = forecast.chance < SURE if passed >= _LEAST_TRIALS else np.zeros(len(untried), bool)
    lost = np.flatnonzero(sure).tolist()
    if len(lost) == len(untried) and forecast.chance.sum() < _ENOUGH:
        return None
    doubted = 0 < len(lost) < len(untried) and rng.random() < _CHECKED
    # Where none is likely to win, but one of so many is, the most promising of all is next.
    live = np.flatnonzero(~sure).tolist() or lost
    if doubted:
        chosen = rng.choice(lost)
    elif settings.sampler == "optuna":
        suggested = OptunaSampler(space, trials, seed)
        chosen = suggested.choose({index: untried[index] for index in live}, forecast.improvement)
    else:
        chosen = max(live, key=lambda index: (forecast.improvement[index], -index))
    return TrialPlan(
        sweep,
        untried[chosen],
        surrogate.bar,
        float(forecast.mean[chosen]),
        float(forecast.deviation[chosen]),
        float(forecast.chance[chosen]),
        doubted,
        len(lost),
    )


def _blind(
    sweep: int, space: SweepSpace, trials: Sequence[SweepTrial], untried: Sequence[Decisions]
) -> TrialPlan | None:
    """The combination that is most unlike those that were refused."""
    if len(trials) >= _MOST_IN_VAIN:
        return None

    def apart(choices: Decisions) -> float:
        return min((_distance(space, choices, one.choices) for one in trials), default=0.0)

    return TrialPlan(sweep, max(untried, key=apart))


def _distance(space: SweepSpace, one: Decisions, other: Decisions) -> float:
    return sum(
        abs(here - there)
        for parameter in space.parameters
        for here, there in zip(
            place(parameter, one[parameter.name]),
            place(parameter, other[parameter.name]),
            strict=True,
        )
    )


def _pool(space: SweepSpace, trials: Sequence[SweepTrial], rng: random.Random) -> list[Decisions]:
    """All combinations; of a large space the neighbours of the best trial, and a sample."""
    if space.size <= _POOL:
        return list(space.combinations())
    best = fastest(trials)
    centre = space.defaults if best is None else best.choices
    pool = [space.defaults]
    pool += [
        centre | {one.name: choice}
        for one in space.parameters
        for choice in one.choices
        if choice != centre[one.name]
    ]
    while len(pool) < _POOL:
        pool.append({one.name: rng.choice(one.choices) for one in space.parameters})
    seen: dict[str, Decisions] = {repr(sorted(one.items())): one for one in pool}
    return list(seen.values())
