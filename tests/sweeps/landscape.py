"""Sweeps of a made-up kernel: known true levels, measurements with artificial noise."""

import math
import random

from kernelmill.archive.fitness import fitness_of
from kernelmill.records.decisions import Decisions
from kernelmill.records.sweep import Parameter, SweepSettings, SweepSpace, TrialPlan
from kernelmill.sweeps import SweepTrial, plan_trial

SPACE = SweepSpace(
    (
        Parameter("ROWS", (4, 1, 2, 8, 16)),
        Parameter("UNROLL", (4, 1, 2, 8)),
        Parameter("ORDER", ("ij", "ji")),
    ),
    {"kernel.cpp": "int rows = ${ROWS}; // ${UNROLL} ${ORDER}\n"},
)
SETTINGS = SweepSettings()


def level(choices: Decisions, shift: int = 0) -> float:
    """The true level; `shift` moves the optimum."""
    rows, unroll = math.log2(int(choices["ROWS"])), math.log2(int(choices["UNROLL"]))
    wrong_order = 0.3 if choices["ORDER"] == "ji" else 0.0
    return -0.12 * abs(rows - 3 + shift) - 0.08 * abs(unroll - 1) - wrong_order


def is_refused(choices: Decisions) -> bool:
    return choices["ROWS"] == 16 and choices["UNROLL"] == 8


def trial(
    attempt: int, plan: TrialPlan, noise: float, rng: random.Random, shift: int = 0
) -> SweepTrial:
    if is_refused(plan.choices):
        return SweepTrial(attempt, plan, None)
    speed = math.exp(level(plan.choices, shift) + rng.gauss(0.0, noise))
    return SweepTrial(attempt, plan, fitness_of([speed], max(noise, 0.003)))


def sweep(
    seed: int,
    noise: float = 0.01,
    most: int = 40,
    settings: SweepSettings = SETTINGS,
    shift: int = 0,
) -> list[SweepTrial]:
    """A whole sweep, until it ends by itself or after some trials."""
    rng = random.Random(seed)
    trials = [trial(1, TrialPlan(1, SPACE.defaults), noise, rng, shift)]
    while len(trials) < most:
        plan = plan_trial(1, SPACE, trials, settings, 1000 * seed + len(trials))
        if plan is None:
            break
        trials.append(trial(1 + len(trials), plan, noise, rng, shift))
    return trials


def best_level(shift: int = 0) -> float:
    return max(level(one, shift) for one in SPACE.combinations() if not is_refused(one))
