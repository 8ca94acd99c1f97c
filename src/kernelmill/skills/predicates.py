"""Conditions on metrics: `metric < number`, `metric >= number`, `metric known` or `missing`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.records.errors import UsageError
from kernelmill.skills.metrics import Metrics

_FORM = re.compile(
    r"(?P<metric>\w+) (?:(?P<relation><|>=) (?P<bound>\d+(?:\.\d+)?(?:e-?\d+)?)"
    r"|(?P<presence>known|missing))"
)


class Predicate(NamedTuple):
    metric: str
    relation: str
    """`<`, `>=`, `known` or `missing`."""
    bound: float = 0.0

    def holds(self, metrics: Metrics) -> bool:
        """A comparison with a missing metric does not hold."""
        value = metrics[self.metric]
        if self.relation == "missing" or value is None:
            return self.relation == "missing" and value is None
        if self.relation == "known":
            return True
        return value < self.bound if self.relation == "<" else value >= self.bound

    def __str__(self) -> str:
        bound = f" {self.bound:g}" if self.relation in ("<", ">=") else ""
        return f"{self.metric} {self.relation}{bound}"


def parse_predicate(text: str) -> Predicate:
    """Raises UsageError for a text of another form. The metric need not exist."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text!r} is no condition: write `metric < 1`, `metric >= 1`, `metric known` or "
            "`metric missing`"
        )
    if found["presence"]:
        return Predicate(found["metric"], found["presence"])
    return Predicate(found["metric"], found["relation"], float(found["bound"]))


def all_hold(predicates: Sequence[Predicate], metrics: Metrics) -> bool:
    return all(predicate.holds(metrics) for predicate in predicates)
