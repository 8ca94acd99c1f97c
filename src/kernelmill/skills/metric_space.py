"""Exhaustive evaluation of a function over the metric space, region by region.

The thresholds of all conditions cut each metric into intervals. A function that only compares
metrics with these thresholds is constant on every product of intervals, so that one point of each
is enough: a proof by cases, not a sample.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from kernelmill.skills.metrics import Metric, Metrics
from kernelmill.skills.predicates import Predicate

_T = TypeVar("_T")
Intervals = dict[str, tuple[float | None, ...]]
"""One point inside of each interval of each metric; None where the metric may be missing."""
Point = dict[str, float | None]


class Region(NamedTuple, Generic[_T]):
    """A part of the metric space on which a function is constant."""

    point: Point
    """The metrics that the function read; all others are free."""
    result: _T


class _Unassigned(Exception):
    def __init__(self, metric: str) -> None:
        super().__init__(metric)
        self.metric = metric


class _PartialPoint(dict[str, float | None]):
    """A point with values for some of the metrics."""

    def __missing__(self, metric: str) -> float | None:
        raise _Unassigned(metric)


def partition(metrics: dict[str, Metric], predicates: Iterable[Predicate]) -> Intervals:
    """The midpoint of each half-open interval between two thresholds."""
    bounds: dict[str, set[float]] = {name: set() for name in metrics}
    for predicate in predicates:
        if predicate.relation in ("<", ">=") and predicate.metric in bounds:
            bounds[predicate.metric].add(predicate.bound)
    intervals: Intervals = {}
    for name, metric in metrics.items():
        inside = sorted(bound for bound in bounds[name] if 0 < bound <= metric.high)
        points: list[float | None] = [
            (low + high) / 2 for low, high in pairwise((0.0, *inside, metric.high)) if low < high
        ]
        if inside and inside[-1] == metric.high:
            points.append(metric.high)
        intervals[name] = (*points, None) if metric.may_be_missing else tuple(points)
    return intervals


def explore(
    function: Callable[[Metrics], _T], intervals: Intervals, within: Point | None = None
) -> Iterator[Region[_T]]:
    """All regions that a function can tell apart, of the whole space or within one region.

    The function runs on a point without values; each metric that it reads is split into its
    intervals.
    """
    point = within or {}
    try:
        result = function(_PartialPoint(point))
    except _Unassigned as needed:
        for value in intervals[needed.metric]:
            yield from explore(function, intervals, {**point, needed.metric: value})
    else:
        yield Region(point, result)
