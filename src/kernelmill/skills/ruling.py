"""What the rules say of one point of the metric space."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kernelmill.skills.library import Library
from kernelmill.skills.method_files import WrittenMethod
from kernelmill.skills.metrics import Metrics
from kernelmill.skills.predicates import all_hold
from kernelmill.skills.rule_files import Bucket, Case, Table


class Standing(NamedTuple):
    """Where a kernel stands; None in a hole of the rules."""

    bottleneck: str | None
    headroom: str | None
    structure: str | None


class Ruling(NamedTuple):
    standing: Standing
    case: Case | None
    """The one that fires."""


def rule_on(table: Table, metrics: Metrics) -> Ruling:
    standing = Standing(
        _name(first(table.bottlenecks, metrics)),
        _name(first(table.headrooms, metrics)),
        _name(first(table.structures, metrics)),
    )
    for case in table.cases:
        if _fits(case, standing) and all_hold(case.conditions, metrics):
            return Ruling(standing, case)
    return Ruling(standing, None)


def offered(library: Library, table: Table, ruling: Ruling, metrics: Metrics) -> Iterator[str]:
    """The methods the case allows and that apply here, in the case's order."""
    for name in ruling.case.allow if ruling.case is not None else ():
        if applies(library.methods[name], table.backend, ruling.standing, metrics):
            yield name


def applies(method: WrittenMethod, backend: str, standing: Standing, metrics: Metrics) -> bool:
    part = method.front.backends.get(backend)
    if part is None or standing.structure not in method.front.structures:
        return False
    return all_hold(part.needs, metrics)


def forbidden(table: Table, case: Case | None, metrics: Metrics) -> dict[str, str]:
    """Methods with the reason against each."""
    reasons = dict(case.forbid) if case is not None else {}
    for prohibition in table.prohibitions:
        if all_hold(prohibition.conditions, metrics):
            reasons.update(dict.fromkeys(prohibition.methods, prohibition.reason))
    return reasons


def first(buckets: Sequence[Bucket], metrics: Metrics) -> Bucket | None:
    return next((one for one in buckets if all_hold(one.conditions, metrics)), None)


def _name(bucket: Bucket | None) -> str | None:
    return None if bucket is None else bucket.name


def _fits(case: Case, standing: Standing) -> bool:
    return all(
        not wanted or is_ in wanted
        for is_, wanted in zip(
            standing, (case.bottleneck, case.headroom, case.structure), strict=True
        )
    )
