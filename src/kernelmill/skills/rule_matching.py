"""Evaluation of the rules at one point of the metric space."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelmill.skills.library import Library
from kernelmill.skills.method_files import MethodFile
from kernelmill.skills.metrics import Metrics
from kernelmill.skills.predicates import all_hold
from kernelmill.skills.rule_files import Bucket, DecisionTable, RuleCase


class Classification(NamedTuple):
    """Names of the buckets that a kernel belongs to; None where no bucket fits."""

    bottleneck: str | None
    headroom: str | None
    structure: str | None


class RuleMatch(NamedTuple):
    classification: Classification
    case: RuleCase | None
    """The case that fires; None where no case fits."""


def match_rules(table: DecisionTable, metrics: Metrics) -> RuleMatch:
    classification = Classification(
        _name(first_bucket(table.bottlenecks, metrics)),
        _name(first_bucket(table.headrooms, metrics)),
        _name(first_bucket(table.structures, metrics)),
    )
    for case in table.cases:
        if _fits(case, classification) and all_hold(case.conditions, metrics):
            return RuleMatch(classification, case)
    return RuleMatch(classification, None)


def applicable_methods(
    library: Library, table: DecisionTable, match: RuleMatch, metrics: Metrics
) -> Iterator[str]:
    """Names of the methods that the case allows and that apply here, in the case's order."""
    for name in match.case.allow if match.case is not None else ():
        if applies(library.methods[name], table.backend, match.classification, metrics):
            yield name


def applies(
    method: MethodFile, backend: str, classification: Classification, metrics: Metrics
) -> bool:
    part = method.on(backend)
    if part is None or classification.structure not in method.front.structures:
        return False
    return all_hold(part.conditions, metrics)


def forbidden_methods(
    table: DecisionTable, case: RuleCase | None, metrics: Metrics
) -> dict[str, str]:
    """Reasons against methods, by their names."""
    reasons = dict(case.forbid) if case is not None else {}
    for prohibition in table.prohibitions:
        if all_hold(prohibition.conditions, metrics):
            reasons.update(dict.fromkeys(prohibition.methods, prohibition.reason))
    return reasons


def first_bucket(buckets: Sequence[Bucket], metrics: Metrics) -> Bucket | None:
    return next((one for one in buckets if all_hold(one.conditions, metrics)), None)


def _name(bucket: Bucket | None) -> str | None:
    return None if bucket is None else bucket.name


def _fits(case: RuleCase, classification: Classification) -> bool:
    return all(
        not wanted or actual in wanted
        for actual, wanted in zip(
            classification, (case.bottleneck, case.headroom, case.structure), strict=True
        )
    )
