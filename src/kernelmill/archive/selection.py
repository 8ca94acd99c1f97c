"""Selection from an archive: parents, inspirations, migrants, and what is measured again."""

import math
import random
import statistics
from collections.abc import Sequence

from kernelmill.archive.elites import Elite, Offspring

_STEEPNESS = 10.0
_LEAST_SPREAD = 0.02
"""Levels that differ by less count as equal to the choice of a parent."""
_CALM, _EAGER = 0.15, 0.35
_DECAY, _SENSITIVITY = 0.8, 10.0
MOST_MEASUREMENTS = 40
"""Measurements of one kernel, at most: two that differ less than these tell are equally good."""
_LEAST_OF_LEADER = 4
"""Measurements of the fastest kernel, at least: the fastest of many is often the luckiest."""
_UNDECIDED = 2.0
"""Standard errors within which two kernels are not told apart yet."""


def choose_parent(elites: Sequence[Elite], rng: random.Random, exploring: bool) -> Elite:
    """A draw by the sigmoid of the robust score over the number of children; uniform to explore."""
    weights = [1.0] * len(elites) if exploring else parent_weights(elites)
    return rng.choices(elites, weights)[0]


def parent_weights(elites: Sequence[Elite]) -> list[float]:
    levels = [one.fitness.level for one in elites]
    median = statistics.median(levels)
    spread = max(_LEAST_SPREAD, statistics.median(abs(level - median) for level in levels))
    return [
        1.0
        / (1.0 + math.exp(-min(50.0, max(-50.0, _STEEPNESS * (level - median) / spread))))
        / (1.0 + one.children)
        for one, level in zip(elites, levels, strict=True)
    ]


def exploration(offspring: Sequence[Offspring]) -> float:
    """Probability to explore: high while nothing is gained. The last offspring comes first."""
    gained = 0.0
    for one in reversed(offspring):
        gained = _DECAY * gained + (1.0 - _DECAY) * (_SENSITIVITY * one.progress) ** 2
    return _CALM + _EAGER / (1.0 + math.sqrt(gained))


def shown(elites: Sequence[Elite]) -> list[Elite]:
    """The elites that may be parents, be shown and migrate: confirmed ones, where there are any."""
    confirmed = [one for one in elites if one.fitness.is_confirmed]
    return confirmed or list(elites)


def top(elites: Sequence[Elite], most: int) -> list[Elite]:
    """The fastest, each attempt once."""
    found = {one.attempt: one for one in elites}
    ranked = sorted(found.values(), key=lambda one: (-one.fitness.level, one.attempt))
    return ranked[:most]


def diverse(elites: Sequence[Elite], known: Sequence[Elite], most: int) -> list[Elite]:
    """Elites as far as possible from the known ones and from each other."""
    seen = list(known)
    chosen: list[Elite] = []
    left = {one.attempt: one for one in elites}
    for one in known:
        left.pop(one.attempt, None)
    while left and len(chosen) < most:
        ranked = sorted(left.values(), key=lambda one: one.attempt)
        farthest = max(ranked, key=lambda one: spacing(one, seen))
        chosen.append(farthest)
        seen.append(farthest)
        del left[farthest.attempt]
    return chosen


def spacing(one: Elite, others: Sequence[Elite]) -> float:
    """Distance to the nearest of the others; 1 without any."""
    return min((one.distance(other) for other in others), default=1.0)


def migrants(elites: Sequence[Elite]) -> list[Elite]:
    """The fastest elite of each island."""
    islands: dict[int, Elite] = {}
    for one in shown(elites):
        best = islands.get(one.island)
        if best is None or one.fitness.is_faster(best.fitness):
            islands[one.island] = one
    return [islands[island] for island in sorted(islands)]


def entry_bar(elites: Sequence[Elite]) -> float:
    """Speed of the slowest owner of an island: a kernel above it may take a cell from somebody."""
    return min((one.fitness.speed for one in elites), default=0.0)


def to_remeasure(
    contenders: Sequence[Elite], elites: Sequence[Elite], most: int, cap: int
) -> list[Elite]:
    """Kernels whose rank another measurement may change: the leader, then those that may be faster,
    the most promising first. Then elites that were measured once.

    `contenders` has the fastest first; `cap` limits the measurements of one kernel.
    """
    if not contenders:
        return []
    leader, *others = contenders
    rivals = [one for one in others if one.fitness.may_beat(leader.fitness, _UNDECIDED)]
    is_new = leader.fitness.error > 0 and leader.fitness.measurements < _LEAST_OF_LEADER
    rivals.sort(key=lambda one: -one.fitness.level - _UNDECIDED * one.fitness.error)
    race = [leader, *rivals] if rivals or is_new else []
    new = [one for one in elites if not one.fitness.is_confirmed]
    chosen = {one.attempt: one for one in (*race, *new) if one.fitness.measurements < cap}
    return list(chosen.values())[:most]
