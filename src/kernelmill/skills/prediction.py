"""Was the prediction kept? It tells a wrong method from a poor implementation."""

from typing import NamedTuple

from kernelmill.generators.planning import Judgement
from kernelmill.judge.verdict import MARGIN
from kernelmill.skills.method_files import Expectation
from kernelmill.skills.metrics import Metrics, written


class Check(NamedTuple):
    judgement: Judgement
    outcome: str
    """What came of it, in one line."""


def check(
    expectation: Expectation | None,
    before: Metrics | None,
    after: Metrics | None,
    gain: float | None,
) -> Check:
    """`gain` is the latency of what it started from over its own; None where it was refused."""
    if gain is None:
        return Check("poor implementation", "refused")
    speed = f"{gain:.2f}x as fast as before"
    moved = None if expectation is None else _moved(expectation, before, after)
    if moved is None or expectation is None or before is None or after is None:
        return Check("worked" if gain > 1 + MARGIN else "undecided", speed)
    name = expectation.metric
    change = f"{written(name, before[name])} -> {written(name, after[name])}"
    kept = "as predicted" if moved else f"not {expectation.direction} as predicted"
    outcome = f"{speed}; {change}, {kept}"
    if gain > 1 + MARGIN:
        return Check("worked", outcome)
    return Check("wrong method" if moved else "poor implementation", outcome)


def _moved(expectation: Expectation, before: Metrics | None, after: Metrics | None) -> bool | None:
    """None where either side is not known."""
    was = None if before is None else before.get(expectation.metric)
    now = None if after is None else after.get(expectation.metric)
    if was is None or now is None:
        return None
    if expectation.direction == "up":
        return now > was * (1 + MARGIN)
    return now < was * (1 - MARGIN)
