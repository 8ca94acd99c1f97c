"""What is wrong with the skills, proved over the whole metric space of every backend."""

import enum
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from kernelmill.generators.composer.composer import EMITTERS
from kernelmill.generators.composer.decisions import Catalogue, is_choice
from kernelmill.skills.cells import Cells, Outcome, Point, cut, explore
from kernelmill.skills.library import Library
from kernelmill.skills.method_files import WrittenMethod
from kernelmill.skills.metrics import Metric, Metrics, of_backend, written
from kernelmill.skills.predicates import Predicate, all_hold
from kernelmill.skills.rule_files import Bucket, Case, Prohibition, Table
from kernelmill.skills.ruling import Ruling, applies, first, forbidden, offered, rule_on
from kernelmill.tasks import load_suite, suite_names

_IDLE = "something before it always fits"


class Flaw(enum.StrEnum):
    UNKNOWN = "unknown name"
    """A metric, method, bucket, backend, decision or task that does not exist."""
    NEVER = "can never fire"
    HOLE = "hole"
    """A point of the metric space for which nothing is said, or nothing is left to try."""
    CONTRADICTION = "contradiction"
    """A method that is allowed and forbidden at the same point."""
    UNUSED = "nobody allows it"
    NO_CASE = "no code case"


class Finding(NamedTuple):
    flaw: Flaw
    where: str
    what: str


def lint(library: Library) -> list[Finding]:
    """Names first: the space is only explored where all of them are known."""
    findings = [one for method in library.methods.values() for one in _method(library, method)]
    for backend in library.backends:
        table = library.table(backend)
        unknown = list(_unknown_in(library, table))
        findings += unknown or list(_space(library, table))
    return findings


# Names


def _method(library: Library, method: WrittenMethod) -> Iterator[Finding]:
    for backend, part in method.front.backends.items():
        where = f"method {method.name} on {backend}"
        if backend not in library.backends:
            yield Finding(Flaw.UNKNOWN, where, f"no rules speak of backend {backend}")
            continue
        table, metrics = library.table(backend), of_backend(backend)
        yield from _metrics(where, part.needs, metrics)
        if part.expectation.metric not in metrics:
            yield Finding(Flaw.UNKNOWN, where, f"expects {part.expects}: no such metric")
        for name, choices in part.alternatives.items():
            for choice in choices:
                if not is_choice(name, choice, _catalogue(backend)):
                    yield Finding(Flaw.UNKNOWN, where, f"no decision {name}: {choice}")
        yield from _names(where, "structure", method.front.structures, table.structures)
        if not any(method.name in case.allow for case in table.cases):
            yield Finding(Flaw.UNUSED, where, "no case has it among what it allows")
        yield from _code_case(where, method, backend)
    for other in method.front.conflicts:
        if other not in library.methods:
            yield Finding(Flaw.UNKNOWN, f"method {method.name}", f"conflicts with {other}")


def _catalogue(backend: str) -> Catalogue:
    """What there is to decide for a backend; nothing where the composer does not write for it."""
    return EMITTERS[backend].catalogue if backend in EMITTERS else {}


def _code_case(where: str, method: WrittenMethod, backend: str) -> Iterator[Finding]:
    task = method.front.backends[backend].case
    if task not in _tasks(task.partition("/")[0]) and not Path(task).is_file():
        yield Finding(Flaw.UNKNOWN, where, f"case {task}: no such task")
    if not any(case.backend == backend and case.which == "after" for case in method.cases):
        yield Finding(Flaw.NO_CASE, where, f"there is no section `## {backend}: after`")


@cache
def _tasks(suite: str) -> frozenset[str]:
    if suite not in suite_names():
        return frozenset()
    return frozenset(file.id for file in load_suite(suite))


def _unknown_in(library: Library, table: Table) -> Iterator[Finding]:
    metrics = of_backend(table.backend)
    for rule in table.rules:
        yield from _metrics(_place(table, rule), rule.conditions, metrics)
    for case in table.cases:
        where = _place(table, case)
        yield from _names(where, "bottleneck", case.bottleneck, table.bottlenecks)
        yield from _names(where, "headroom", case.headroom, table.headrooms)
        yield from _names(where, "structure", case.structure, table.structures)
        yield from _methods(library, table, where, (*case.allow, *case.forbid))
    for one in table.prohibitions:
        yield from _methods(library, table, _place(table, one), one.methods)
    names = {case.name for case in table.cases}
    for file in library.rules:
        for name in file.additions if table.backend in file.backends else ():
            if name not in names:
                yield Finding(Flaw.UNKNOWN, f"additions for {table.backend}", f"no case {name}")


def _metrics(
    where: str, predicates: Sequence[Predicate], metrics: dict[str, Metric]
) -> Iterator[Finding]:
    for predicate in predicates:
        metric = metrics.get(predicate.metric)
        if metric is None:
            yield Finding(Flaw.UNKNOWN, where, f"{predicate}: no such metric")
        elif predicate.relation in ("known", "missing"):
            if not metric.may_be_missing:
                yield Finding(Flaw.NEVER, where, f"{predicate}: it is never missing")
        elif not 0 < predicate.bound <= metric.high:
            yield Finding(Flaw.NEVER, where, f"{predicate}: it lies within 0 and {metric.high:g}")


def _names(
    where: str, what: str, names: Sequence[str], buckets: Sequence[Bucket]
) -> Iterator[Finding]:
    for name in set(names) - {bucket.name for bucket in buckets}:
        yield Finding(Flaw.UNKNOWN, where, f"there is no {what} {name}")


def _methods(library: Library, table: Table, where: str, names: Sequence[str]) -> Iterator[Finding]:
    for name in names:
        method = library.methods.get(name)
        if method is None:
            yield Finding(Flaw.UNKNOWN, where, f"there is no method {name}")
        elif table.backend not in method.front.backends:
            yield Finding(Flaw.UNKNOWN, where, f"method {name} is not for {table.backend}")


# The space


def _space(library: Library, table: Table) -> Iterator[Finding]:
    cells = _cells(library, table)
    for buckets in (table.bottlenecks, table.headrooms, table.structures):
        yield from _idle_buckets(table, buckets, cells)
    blocks = list(explore(partial(rule_on, table), cells))
    yield from _idle_cases(table, {id(block.said.case) for block in blocks})
    yield from _holes(library, table, blocks, cells)
    yield from _contradictions(library, table, blocks, cells)
    yield from _idle_prohibitions(table, cells)


def _idle_buckets(table: Table, buckets: Sequence[Bucket], cells: Cells) -> Iterator[Finding]:
    fired = {id(outcome.said) for outcome in explore(partial(first, buckets), cells)}
    for bucket in buckets:
        if id(bucket) not in fired:
            yield Finding(Flaw.NEVER, _place(table, bucket), _IDLE)


def _idle_cases(table: Table, fired: set[int]) -> Iterator[Finding]:
    for case in table.cases:
        if id(case) not in fired:
            yield Finding(Flaw.NEVER, _place(table, case), _IDLE)


def _cells(library: Library, table: Table) -> Cells:
    predicates = [predicate for rule in table.rules for predicate in rule.conditions]
    for method in library.methods.values():
        if (part := method.front.backends.get(table.backend)) is not None:
            predicates += part.needs
    return cut(of_backend(table.backend), predicates)


def _holes(
    library: Library, table: Table, blocks: Sequence[Outcome[Ruling]], cells: Cells
) -> Iterator[Finding]:
    """One example for each standing without a case, and for each case without a method."""
    told: set[object] = set()
    for block in blocks:
        standing, case = block.said
        what = standing if case is None else case.name
        finding = None if what in told else _hole(library, table, block, cells)
        if finding is not None:
            told.add(what)
            yield finding


def _hole(library: Library, table: Table, block: Outcome[Ruling], cells: Cells) -> Finding | None:
    ruling = block.said
    if ruling.case is None:
        what = f"no case fits {tuple(ruling.standing)}, as where {_point(block.point)}"
        return Finding(Flaw.HOLE, table.backend, what)

    def first_offer(metrics: Metrics) -> str | None:
        return next(offered(library, table, ruling, metrics), None)

    for outcome in explore(first_offer, cells, block.point):
        if outcome.said is None:
            what = f"no method applies where {_point(outcome.point)}"
            return Finding(Flaw.HOLE, _place(table, ruling.case), what)
    return None


def _contradictions(
    library: Library, table: Table, blocks: Sequence[Outcome[Ruling]], cells: Cells
) -> Iterator[Finding]:
    """One example for each case and method."""
    everywhere = {name for one in table.prohibitions for name in one.methods}
    told: set[tuple[str, str]] = set()
    for block in blocks:
        case = block.said.case
        if case is None:
            continue
        for name in sorted({*case.forbid, *everywhere} & set(case.allow)):
            if (case.name, name) not in told:
                finding = _contradiction(library.methods[name], table, block, cells)
                if finding is not None:
                    told.add((case.name, name))
                    yield finding


def _contradiction(
    method: WrittenMethod, table: Table, block: Outcome[Ruling], cells: Cells
) -> Finding | None:
    standing, case = block.said

    def reason(metrics: Metrics) -> str | None:
        if not applies(method, table.backend, standing, metrics):
            return None
        return forbidden(table, case, metrics).get(method.name)

    for outcome in explore(reason, cells, block.point):
        if outcome.said is not None and case is not None:
            what = f"{method.name} where {_point(outcome.point)}: forbidden, {outcome.said}"
            return Finding(Flaw.CONTRADICTION, _place(table, case), what)
    return None


def _idle_prohibitions(table: Table, cells: Cells) -> Iterator[Finding]:
    for one in table.prohibitions:
        if not any(outcome.said for outcome in explore(partial(all_hold, one.conditions), cells)):
            yield Finding(Flaw.NEVER, _place(table, one), "its conditions exclude each other")


def _place(table: Table, rule: Bucket | Case | Prohibition) -> str:
    kind = "bucket" if isinstance(rule, Bucket) else type(rule).__name__.lower()
    return f"{kind} {rule.name} on {table.backend}"


def _point(point: Point) -> str:
    return ", ".join(written(name, value) for name, value in point.items()) or "anything is"
