"""Checks of predictions: they distinguish a wrong method from a poor implementation."""

from typing import NamedTuple

from kernelmill.records.guidance import Judgement, Plan
from kernelmill.records.proposal import Parent
from kernelmill.records.task import Task
from kernelmill.records.verdict import MARGIN, Verdict
from kernelmill.skills.library import Library
from kernelmill.skills.method_files import Expectation
from kernelmill.skills.metric_reading import read_metrics
from kernelmill.skills.metrics import Metrics, format_metric


class PredictionCheck(NamedTuple):
    judgement: Judgement
    outcome: str
    """One line for people and prompts."""


def check_plan(
    library: Library, task: Task, plan: Plan, start: Parent, end: Parent
) -> PredictionCheck:
    """Compare the prediction of a plan with the attempt that carried it out."""
    if not end.verdict.passed:
        reasons = [f"{one.gate}: {one.kind}: {one.summary}" for one in end.verdict.feedback]
        return PredictionCheck("poor implementation", f"refused: {'; '.join(reasons)}")
    return check_prediction(
        _expected(library, plan, end.verdict),
        read_metrics(task, start.candidate, start.verdict),
        read_metrics(task, end.candidate, end.verdict),
        _ratio(end.verdict) / _ratio(start.verdict),
    )


def check_prediction(
    expectation: Expectation | None, before: Metrics | None, after: Metrics | None, gain: float
) -> PredictionCheck:
    """Compare the metrics before and after a change that made a kernel `gain` times as fast."""
    speed = f"{gain:.2f}x as fast as before"
    worked = gain > 1 + MARGIN
    was = _value(expectation, before)
    now = _value(expectation, after)
    if expectation is None or was is None or now is None:
        return PredictionCheck("worked" if worked else "undecided", speed)
    moved = now > was * (1 + MARGIN) if expectation.direction == "up" else now < was * (1 - MARGIN)
    metric = expectation.metric
    change = f"{format_metric(metric, was)} -> {format_metric(metric, now)}"
    kept = "as predicted" if moved else f"not {expectation.direction} as predicted"
    outcome = f"{speed}; {change}, {kept}"
    if worked:
        return PredictionCheck("worked", outcome)
    return PredictionCheck("wrong method" if moved else "poor implementation", outcome)


def _expected(library: Library, plan: Plan, verdict: Verdict) -> Expectation | None:
    method = library.methods.get(plan.method)
    part = None if method is None else method.on(verdict.backend)
    return None if part is None else part.expectation


def _value(expectation: Expectation | None, metrics: Metrics | None) -> float | None:
    if expectation is None or metrics is None:
        return None
    return metrics.get(expectation.metric)


def _ratio(verdict: Verdict) -> float:
    return 1.0 if verdict.latency is None else verdict.latency.over_baseline.ratio
