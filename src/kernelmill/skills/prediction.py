"""Was the prediction kept? It tells a wrong method from a poor implementation."""

from typing import NamedTuple

from kernelmill.generators.base import Parent
from kernelmill.generators.planning import Judgement, Plan
from kernelmill.judge import Verdict
from kernelmill.judge.verdict import MARGIN
from kernelmill.skills.library import Library
from kernelmill.skills.measuring import measure
from kernelmill.skills.method_files import Expectation
from kernelmill.skills.metrics import Metrics, written
from kernelmill.tasks.task import Task


class Check(NamedTuple):
    judgement: Judgement
    outcome: str
    """What came of it, in one line."""


def check_plan(library: Library, task: Task, plan: Plan, start: Parent, end: Parent) -> Check:
    """What came of a plan that led from one attempt to another."""
    if not end.verdict.passed:
        reasons = [f"{one.gate}: {one.kind}: {one.summary}" for one in end.verdict.feedback]
        return Check("poor implementation", f"refused: {'; '.join(reasons)}")
    return check(
        _expected(library, plan, end.verdict),
        measure(task, start.candidate, start.verdict),
        measure(task, end.candidate, end.verdict),
        _ratio(end.verdict) / _ratio(start.verdict),
    )


def check(
    expectation: Expectation | None, before: Metrics | None, after: Metrics | None, gain: float
) -> Check:
    """`gain` is the latency of what it started from over its own."""
    speed = f"{gain:.2f}x as fast as before"
    worked = gain > 1 + MARGIN
    was = _value(expectation, before)
    now = _value(expectation, after)
    if expectation is None or was is None or now is None:
        return Check("worked" if worked else "undecided", speed)
    moved = now > was * (1 + MARGIN) if expectation.direction == "up" else now < was * (1 - MARGIN)
    change = f"{written(expectation.metric, was)} -> {written(expectation.metric, now)}"
    kept = "as predicted" if moved else f"not {expectation.direction} as predicted"
    outcome = f"{speed}; {change}, {kept}"
    if worked:
        return Check("worked", outcome)
    return Check("wrong method" if moved else "poor implementation", outcome)


def _expected(library: Library, plan: Plan, verdict: Verdict) -> Expectation | None:
    method = library.methods.get(plan.method)
    part = None if method is None else method.front.backends.get(verdict.backend)
    return None if part is None else part.expectation


def _value(expectation: Expectation | None, metrics: Metrics | None) -> float | None:
    if expectation is None or metrics is None:
        return None
    return metrics.get(expectation.metric)


def _ratio(verdict: Verdict) -> float:
    return 1.0 if verdict.latency is None else verdict.latency.over_eager.ratio
