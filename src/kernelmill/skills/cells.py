"""Every cell that the thresholds cut the metric space into: a proof by cases, not a sample."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from kernelmill.skills.metrics import Metric, Metrics
from kernelmill.skills.predicates import Predicate

T = TypeVar("T")
Cells = dict[str, tuple[float | None, ...]]
"""A point inside of each cell of each metric; None where the metric may be missing."""


Point = dict[str, float | None]


class Outcome(NamedTuple, Generic[T]):
    """What a function says on a whole block of cells."""

    point: Point
    """The metrics it looked at; it says the same whatever the others are."""
    said: T


class _Undecided(Exception):
    def __init__(self, metric: str) -> None:
        super().__init__(metric)
        self.metric = metric


class _Partial(dict[str, float | None]):
    """A point of which only some metrics are decided yet."""

    def __missing__(self, metric: str) -> float | None:
        raise _Undecided(metric)


def cut(metrics: dict[str, Metric], predicates: Iterable[Predicate]) -> Cells:
    """The middle of each half-open interval between two thresholds."""
    bounds: dict[str, set[float]] = {name: set() for name in metrics}
    for predicate in predicates:
        if predicate.relation in ("<", ">=") and predicate.metric in bounds:
            bounds[predicate.metric].add(predicate.bound)
    cells: Cells = {}
    for name, metric in metrics.items():
        inside = sorted(bound for bound in bounds[name] if 0 < bound <= metric.high)
        points: list[float | None] = [
            (low + high) / 2 for low, high in pairwise((0.0, *inside, metric.high)) if low < high
        ]
        if inside and inside[-1] == metric.high:
            points.append(metric.high)
        cells[name] = (*points, None) if metric.may_be_missing else tuple(points)
    return cells


def explore(
    decide: Callable[[Metrics], T], cells: Cells, within: Point | None = None
) -> Iterator[Outcome[T]]:
    """Run `decide` on every block of cells it can tell apart, of the whole space or within a block.

    It runs on a point of which nothing else is decided; each metric it asks for is split into its
    cells.
    """
    decided = within or {}
    try:
        said = decide(_Partial(decided))
    except _Undecided as asked:
        for value in cells[asked.metric]:
            yield from explore(decide, cells, {**decided, asked.metric: value})
    else:
        yield Outcome(decided, said)
