"""Asynchronous successive halving: the best of a sweep's trials are measured again.

A rung holds the trials with at least as many measurements. The best third of a rung is measured
once more, so that most measurements go to the combinations among which the winner is.
"""

from collections.abc import Sequence

from kernelmill.sweeps.trials import SweepTrial, ranking

_REDUCTION = 3
_RUNGS = 4
"""Measurements of a trial, at most."""


def due(trials: Sequence[SweepTrial], most: int) -> list[int]:
    """Attempts that are to be measured again, those with the most measurements first."""
    measured = [one for one in ranking(trials) if one.fitness is not None and one.fitness.error > 0]
    chosen: list[int] = []
    for rung in range(_RUNGS - 1, 0, -1):
        there = [one for one in measured if one.fitness and one.fitness.measurements >= rung]
        best = there[: len(there) // _REDUCTION]
        chosen += [one.attempt for one in best if one.fitness and one.fitness.measurements == rung]
    return chosen[:most]
