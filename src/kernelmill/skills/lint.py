"""Linter of the skill library: checks names, then every rule over the whole metric space."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from kernelmill.generators import decision_catalogue
from kernelmill.records.decisions import is_choice
from kernelmill.skills.library import Library
from kernelmill.skills.lint_findings import LintFinding, SkillFlaw, rule_place
from kernelmill.skills.lint_space import check_space
from kernelmill.skills.method_files import MethodFile
from kernelmill.skills.metrics import Metric, backend_metrics
from kernelmill.skills.predicates import Predicate
from kernelmill.skills.rule_files import Bucket, DecisionTable
from kernelmill.tasks import load_suite, suite_names


def lint_library(library: Library) -> list[LintFinding]:
    """All findings. The metric space of a backend is explored only if all names are known."""
    findings = [one for method in library.methods.values() for one in _method(library, method)]
    for backend in library.backends:
        table = library.table(backend)
        unknown = list(_unknown_in(library, table))
        findings += unknown or list(check_space(library, table))
    return findings


def _method(library: Library, method: MethodFile) -> Iterator[LintFinding]:
    for backend, part in method.front.backends.items():
        where = f"method {method.name} on {backend}"
        if backend not in library.backends:
            yield LintFinding(SkillFlaw.UNKNOWN, where, f"there are no rules for backend {backend}")
            continue
        table, metrics = library.table(backend), backend_metrics(backend)
        yield from _metrics(where, part.conditions, metrics)
        if part.expectation.metric not in metrics:
            yield LintFinding(SkillFlaw.UNKNOWN, where, f"expects {part.expects}: no such metric")
        for name, choices in part.alternatives.items():
            for choice in choices:
                if not is_choice(name, choice, decision_catalogue(backend)):
                    yield LintFinding(SkillFlaw.UNKNOWN, where, f"no decision {name}: {choice}")
        yield from _names(where, "structure", method.front.structures, table.structures)
        if not any(method.name in case.allow for case in table.cases):
            yield LintFinding(SkillFlaw.UNUSED, where, "no case allows it")
        yield from _code_case(where, method, backend)
    for other in method.front.conflicts:
        if other not in library.methods:
            yield LintFinding(
                SkillFlaw.UNKNOWN,
                f"method {method.name}",
                f"conflicts with {other}: no such method",
            )


def _code_case(where: str, method: MethodFile, backend: str) -> Iterator[LintFinding]:
    task = method.front.backends[backend].case
    if task not in _tasks(task.partition("/")[0]) and not Path(task).is_file():
        yield LintFinding(SkillFlaw.UNKNOWN, where, f"case {task}: no such task")
    if not any(case.backend == backend and case.which == "after" for case in method.cases):
        yield LintFinding(SkillFlaw.NO_CASE, where, f"there is no section `## {backend}: after`")


@cache
def _tasks(suite: str) -> frozenset[str]:
    if suite not in suite_names():
        return frozenset()
    return frozenset(file.id for file in load_suite(suite))


def _unknown_in(library: Library, table: DecisionTable) -> Iterator[LintFinding]:
    metrics = backend_metrics(table.backend)
    for rule in table.rules:
        yield from _metrics(rule_place(table, rule), rule.conditions, metrics)
    for case in table.cases:
        where = rule_place(table, case)
        yield from _names(where, "bottleneck", case.bottleneck, table.bottlenecks)
        yield from _names(where, "headroom", case.headroom, table.headrooms)
        yield from _names(where, "structure", case.structure, table.structures)
        yield from _methods(library, table, where, (*case.allow, *case.forbid))
    for one in table.prohibitions:
        yield from _methods(library, table, rule_place(table, one), one.methods)
    names = {case.name for case in table.cases}
    for file in library.rules:
        for name in file.additions if table.backend in file.backends else ():
            if name not in names:
                yield LintFinding(
                    SkillFlaw.UNKNOWN, f"additions for {table.backend}", f"no case {name}"
                )


def _metrics(
    where: str, predicates: Sequence[Predicate], metrics: dict[str, Metric]
) -> Iterator[LintFinding]:
    for predicate in predicates:
        metric = metrics.get(predicate.metric)
        if metric is None:
            yield LintFinding(SkillFlaw.UNKNOWN, where, f"{predicate}: no such metric")
        elif predicate.relation in ("known", "missing"):
            if not metric.may_be_missing:
                yield LintFinding(SkillFlaw.NEVER, where, f"{predicate}: it is never missing")
        elif not 0 < predicate.bound <= metric.high:
            yield LintFinding(
                SkillFlaw.NEVER, where, f"{predicate}: its values are from 0 to {metric.high:g}"
            )


def _names(
    where: str, what: str, names: Sequence[str], buckets: Sequence[Bucket]
) -> Iterator[LintFinding]:
    for name in set(names) - {bucket.name for bucket in buckets}:
        yield LintFinding(SkillFlaw.UNKNOWN, where, f"there is no {what} {name}")


def _methods(
    library: Library, table: DecisionTable, where: str, names: Sequence[str]
) -> Iterator[LintFinding]:
    for name in names:
        method = library.methods.get(name)
        if method is None:
            yield LintFinding(SkillFlaw.UNKNOWN, where, f"there is no method {name}")
        elif table.backend not in method.front.backends:
            yield LintFinding(SkillFlaw.UNKNOWN, where, f"method {name} is not for {table.backend}")
