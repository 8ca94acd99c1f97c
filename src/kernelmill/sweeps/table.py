"""The table of a sweep, as it is shown to a generator and to people."""

import math
from collections.abc import Sequence

from kernelmill.records.decisions import Decisions
from kernelmill.records.sweep import SweepSpace
from kernelmill.sweeps.trials import SweepTrial, ranking

_MOST_ROWS = 12


def sweep_table(attempt: int, space: SweepSpace, trials: Sequence[SweepTrial]) -> str:
    """What was measured, the fastest first, and what was left out."""
    ranges = "; ".join(
        f"{one.name} in {', '.join(map(str, one.choices))}" for one in space.parameters
    )
    ranked = ranking(trials)
    rows = [f"- {described(one.choices)}: {_outcome(one)}" for one in ranked[:_MOST_ROWS]]
    refused = [one for one in trials if one.fitness is None]
    rows += [
        f"- {described(one.choices)}: refused (attempt {one.attempt})"
        for one in refused[: _MOST_ROWS // 2]
    ]
    skipped = max((one.plan.skipped for one in trials), default=0)
    told = f"; {skipped} were left out as sure to lose" if skipped else ""
    head = (
        f"The parameters of attempt {attempt} ({ranges}) were measured in {len(trials)} of "
        f"{space.size} combinations{told}:"
    )
    return "\n".join([head, *rows])


def described(choices: Decisions) -> str:
    return ", ".join(f"{name}={choice}" for name, choice in choices.items())


def _outcome(trial: SweepTrial) -> str:
    assert trial.fitness is not None
    count = trial.fitness.measurements
    times = f" in {count} measurements" if count > 1 else ""
    return f"{math.exp(trial.fitness.level):.2f}x the baseline{times} (attempt {trial.attempt})"
