"""Rule files, and the decision table that they form for one backend."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.records.errors import UsageError
from kernelmill.records.target import backend_name
from kernelmill.skills.predicates import Predicate, parse_predicate


class Bucket(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A bottleneck, a headroom tier or a structure class.

    A kernel belongs to the first one whose conditions all hold.
    """

    name: str
    about: str
    when: tuple[str, ...] = ()

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse_predicate, self.when))


class RuleCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Methods that are allowed and forbidden in some region of the metric space.

    The first case that fits a kernel fires. A key that is left out fits anything.
    """

    name: str
    allow: tuple[str, ...]
    """Names of methods, the most promising first."""
    bottleneck: tuple[str, ...] = ()
    headroom: tuple[str, ...] = ()
    structure: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    forbid: dict[str, str] = {}
    """Reasons against methods, by their names."""

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse_predicate, self.when))


class Prohibition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Methods that are forbidden wherever some conditions hold, whatever the case."""

    name: str
    methods: tuple[str, ...]
    reason: str
    when: tuple[str, ...] = ()

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse_predicate, self.when))


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    backends: tuple[str, ...]
    bottlenecks: tuple[Bucket, ...] = ()
    headrooms: tuple[Bucket, ...] = ()
    structures: tuple[Bucket, ...] = ()
    cases: tuple[RuleCase, ...] = ()
    prohibitions: tuple[Prohibition, ...] = ()
    additions: dict[str, tuple[str, ...]] = {}
    """Further methods to allow, by the name of a case in another file."""


class DecisionTable(NamedTuple):
    """All rules of one backend, in the order of the file names."""

    backend: str
    bottlenecks: tuple[Bucket, ...]
    headrooms: tuple[Bucket, ...]
    structures: tuple[Bucket, ...]
    cases: tuple[RuleCase, ...]
    prohibitions: tuple[Prohibition, ...]

    @property
    def rules(self) -> tuple[Bucket | RuleCase | Prohibition, ...]:
        buckets = (*self.bottlenecks, *self.headrooms, *self.structures)
        return (*buckets, *self.cases, *self.prohibitions)


def read_rules(path: Path) -> RuleFile:
    """Read and check a rule file. Raises UsageError that names the file and the mistake."""
    try:
        rules = msgspec.yaml.decode(path.read_text(), type=RuleFile)
        for backend in rules.backends:
            for rule in decision_table([rules], backend).rules:
                _ = rule.conditions
    except (msgspec.DecodeError, UsageError) as error:
        raise UsageError(f"{path}: {error}") from error
    return rules


def decision_table(files: Sequence[RuleFile], target: str) -> DecisionTable:
    backend = backend_name(target)
    mine = [file for file in files if backend in file.backends]
    added: dict[str, tuple[str, ...]] = {}
    for file in mine:
        for name, methods in file.additions.items():
            added[name] = (*added.get(name, ()), *methods)
    cases = [
        msgspec.structs.replace(case, allow=(*case.allow, *added.get(case.name, ())))
        for file in mine
        for case in file.cases
    ]
    return DecisionTable(
        backend,
        tuple(one for file in mine for one in file.bottlenecks),
        tuple(one for file in mine for one in file.headrooms),
        tuple(one for file in mine for one in file.structures),
        tuple(cases),
        tuple(one for file in mine for one in file.prohibitions),
    )
