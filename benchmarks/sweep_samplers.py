"""How fast a sweep finds a good combination, and what it leaves out, on made-up landscapes.

    python benchmarks/sweep_samplers.py [--landscapes 100] [--trials 16] [--noise 0.02]

A landscape has four parameters. The level of a combination is a sum of effects of single parameters
(smooth for numbers), of pairs, and of the combination alone; some combinations are refused. What is
measured has noise. Samplers: the surrogate, Optuna's TPE where it is installed, and chance.
"""

import argparse
import importlib.util
import itertools
import math
import random
import statistics
from typing import NamedTuple

from kernelmill.archive.fitness import fitness_of
from kernelmill.records.decisions import Decisions
from kernelmill.records.sweep import Parameter, SweepSettings, SweepSpace, TrialPlan
from kernelmill.sweeps import SweepTrial, plan_trial
from kernelmill.sweeps.calibration import calibrate_surrogate
from kernelmill.sweeps.trials import fastest

SPACE = SweepSpace(
    (
        Parameter("ROWS", (4, 1, 2, 8, 16)),
        Parameter("UNROLL", (4, 1, 2, 8)),
        Parameter("DEPTH", (128, 32, 64, 256)),
        Parameter("ORDER", ("ij", "ji")),
    )
)
_SINGLE, _PAIR, _OWN, _REFUSED = 0.15, 0.08, 0.03, 0.1
"""Standard deviations of the effects, and the share of combinations that are refused."""


class Landscape:
    """True levels of all combinations of the space."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        single = {one.name: self._effects(one) for one in SPACE.parameters}
        pairs = {
            (one.name, other.name, here, there): self._rng.gauss(0.0, _PAIR)
            for one, other in itertools.combinations(SPACE.parameters, 2)
            for here in one.choices
            for there in other.choices
        }
        self.levels: dict[str, float | None] = {}
        for choices in SPACE.combinations():
            level = sum(single[name][choice] for name, choice in choices.items())
            for one, other in itertools.combinations(choices, 2):
                level += pairs[one, other, choices[one], choices[other]]
            refused = self._rng.random() < _REFUSED and choices != SPACE.defaults
            self.levels[str(choices)] = None if refused else level + self._rng.gauss(0.0, _OWN)

    def _effects(self, parameter: Parameter) -> dict[bool | int | str, float]:
        """A parabola over the logarithm of numbers; anything for other choices."""
        if not all(type(one) is int for one in parameter.choices):
            return {one: self._rng.gauss(0.0, _SINGLE) for one in parameter.choices}
        places = {one: math.log2(int(one)) for one in parameter.choices}
        best = self._rng.choice(list(places.values()))
        bend = abs(self._rng.gauss(0.0, _SINGLE)) / 2
        return {one: -bend * abs(place - best) for one, place in places.items()}

    @property
    def best(self) -> float:
        return max(level for level in self.levels.values() if level is not None)

    def level(self, choices: Decisions) -> float | None:
        return self.levels[str(choices)]


class Outcome(NamedTuple):
    """One sweep of a landscape."""

    trials: list[SweepTrial]
    regret: float
    """How much slower than the best of the space its fastest combination truly is, as a share."""


def run(landscape: Landscape, sampler: str, most: int, noise: float, seed: int) -> Outcome:
    rng, trials = random.Random(seed), list[SweepTrial]()
    order = list(SPACE.combinations())[1:]
    rng.shuffle(order)
    plan: TrialPlan | None = TrialPlan(1, SPACE.defaults)
    while plan is not None:
        level = landscape.level(plan.choices)
        fitness = None
        if level is not None:
            fitness = fitness_of([math.exp(level + rng.gauss(0.0, noise))], noise)
        trials.append(SweepTrial(1 + len(trials), plan, fitness))
        if len(trials) == most:
            break
        if sampler == "chance":
            plan = TrialPlan(1, order.pop())
        else:
            settings = SweepSettings(sampler="optuna" if sampler == "optuna" else "surrogate")
            plan = plan_trial(1, SPACE, trials, settings, 1000 * seed + len(trials))
    best = fastest(trials)
    truth = None if best is None else landscape.level(best.choices)
    regret = 1.0 if truth is None else 1.0 - math.exp(truth - landscape.best)
    return Outcome(trials, regret)


def lost_by_skipping(landscape: Landscape, outcome: Outcome, most: int) -> bool | None:
    """Whether a sweep that ended by itself missed a combination that is 2% faster; None: it did
    not end by itself."""
    if len(outcome.trials) == most:
        return None
    return outcome.regret > 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--landscapes", type=int, default=100)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--noise", type=float, default=0.02)
    arguments = parser.parse_args()
    landscapes = [Landscape(seed) for seed in range(arguments.landscapes)]
    samplers = ["surrogate", "chance"]
    if importlib.util.find_spec("optuna") is not None:
        samplers.insert(1, "optuna")
    print(
        f"{arguments.landscapes} landscapes of {SPACE.size} combinations, {arguments.trials} "
        f"trials, noise {arguments.noise:.0%}"
    )
    for sampler in samplers:
        outcomes = [
            run(landscape, sampler, arguments.trials, arguments.noise, seed)
            for seed, landscape in enumerate(landscapes)
        ]
        regrets = sorted(one.regret for one in outcomes)
        ended = [
            lost
            for landscape, one in zip(landscapes, outcomes, strict=True)
            if (lost := lost_by_skipping(landscape, one, arguments.trials)) is not None
        ]
        print(
            f"{sampler}: behind the best by {statistics.mean(regrets):.1%} (median "
            f"{statistics.median(regrets):.1%}, worst tenth {regrets[-len(regrets) // 10]:.1%}); "
            f"{len(ended)} sweeps ended early, {sum(ended)} of them more than 2% behind",
            flush=True,
        )
        if sampler != "chance":
            found = calibrate_surrogate(trial for one in outcomes for trial in one.trials)
            print(f"  {found}", flush=True)


if __name__ == "__main__":
    main()
