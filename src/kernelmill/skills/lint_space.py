"""Checks of the rules over the whole metric space of a backend."""

from collections.abc import Iterator, Sequence
from functools import partial

from kernelmill.skills.library import Library
from kernelmill.skills.lint_findings import LintFinding, SkillFlaw, rule_place
from kernelmill.skills.method_files import MethodFile
from kernelmill.skills.metric_space import Intervals, Point, Region, explore, partition
from kernelmill.skills.metrics import Metrics, backend_metrics, format_metric
from kernelmill.skills.predicates import all_hold
from kernelmill.skills.rule_files import Bucket, DecisionTable
from kernelmill.skills.rule_matching import (
    RuleMatch,
    applicable_methods,
    applies,
    first_bucket,
    forbidden_methods,
    match_rules,
)

_SHADOWED = "an earlier one always fits"
_Regions = Sequence[Region[RuleMatch]]


def check_space(library: Library, table: DecisionTable) -> Iterator[LintFinding]:
    """Rules that can never fire, holes and contradictions. All names must be known."""
    intervals = _intervals(library, table)
    for buckets in (table.bottlenecks, table.headrooms, table.structures):
        yield from _shadowed_buckets(table, buckets, intervals)
    regions = list(explore(partial(match_rules, table), intervals))
    yield from _shadowed_cases(table, {id(region.result.case) for region in regions})
    yield from _holes(library, table, regions, intervals)
    yield from _contradictions(library, table, regions, intervals)
    yield from _impossible_prohibitions(table, intervals)


def _shadowed_buckets(
    table: DecisionTable, buckets: Sequence[Bucket], intervals: Intervals
) -> Iterator[LintFinding]:
    fired = {id(region.result) for region in explore(partial(first_bucket, buckets), intervals)}
    for bucket in buckets:
        if id(bucket) not in fired:
            yield LintFinding(SkillFlaw.NEVER, rule_place(table, bucket), _SHADOWED)


def _shadowed_cases(table: DecisionTable, fired: set[int]) -> Iterator[LintFinding]:
    for case in table.cases:
        if id(case) not in fired:
            yield LintFinding(SkillFlaw.NEVER, rule_place(table, case), _SHADOWED)


def _intervals(library: Library, table: DecisionTable) -> Intervals:
    predicates = [predicate for rule in table.rules for predicate in rule.conditions]
    for method in library.methods.values():
        if (part := method.front.backends.get(table.backend)) is not None:
            predicates += part.conditions
    return partition(backend_metrics(table.backend), predicates)


def _holes(
    library: Library, table: DecisionTable, regions: _Regions, intervals: Intervals
) -> Iterator[LintFinding]:
    """One example for each classification without a case, and each case without a method."""
    reported: set[object] = set()
    for region in regions:
        classification, case = region.result
        what = classification if case is None else case.name
        finding = None if what in reported else _hole(library, table, region, intervals)
        if finding is not None:
            reported.add(what)
            yield finding


def _hole(
    library: Library, table: DecisionTable, region: Region[RuleMatch], intervals: Intervals
) -> LintFinding | None:
    match = region.result
    if match.case is None:
        where = _point(region.point)
        what = f"no case fits {tuple(match.classification)}, for example where {where}"
        return LintFinding(SkillFlaw.HOLE, table.backend, what)

    def first_method(metrics: Metrics) -> str | None:
        return next(applicable_methods(library, table, match, metrics), None)

    for part in explore(first_method, intervals, region.point):
        if part.result is None:
            what = f"no method applies where {_point(part.point)}"
            return LintFinding(SkillFlaw.HOLE, rule_place(table, match.case), what)
    return None


def _contradictions(
    library: Library, table: DecisionTable, regions: _Regions, intervals: Intervals
) -> Iterator[LintFinding]:
    """One example for each pair of case and method."""
    everywhere = {name for one in table.prohibitions for name in one.methods}
    reported: set[tuple[str, str]] = set()
    for region in regions:
        case = region.result.case
        if case is None:
            continue
        for name in sorted({*case.forbid, *everywhere} & set(case.allow)):
            if (case.name, name) not in reported:
                finding = _contradiction(library.methods[name], table, region, intervals)
                if finding is not None:
                    reported.add((case.name, name))
                    yield finding


def _contradiction(
    method: MethodFile, table: DecisionTable, region: Region[RuleMatch], intervals: Intervals
) -> LintFinding | None:
    classification, case = region.result

    def reason(metrics: Metrics) -> str | None:
        if not applies(method, table.backend, classification, metrics):
            return None
        return forbidden_methods(table, case, metrics).get(method.name)

    for part in explore(reason, intervals, region.point):
        if part.result is not None and case is not None:
            what = f"{method.name} where {_point(part.point)}: forbidden, {part.result}"
            return LintFinding(SkillFlaw.CONTRADICTION, rule_place(table, case), what)
    return None


def _impossible_prohibitions(table: DecisionTable, intervals: Intervals) -> Iterator[LintFinding]:
    for one in table.prohibitions:
        holds = partial(all_hold, one.conditions)
        if not any(region.result for region in explore(holds, intervals)):
            yield LintFinding(
                SkillFlaw.NEVER, rule_place(table, one), "its conditions contradict each other"
            )


def _point(point: Point) -> str:
    return (
        ", ".join(format_metric(name, value) for name, value in point.items()) or "anything holds"
    )
