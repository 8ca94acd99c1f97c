"""Rules as people write them, and the decision table they make for one backend."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.errors import UsageError
from kernelmill.skills.predicates import Predicate, parse


class Bucket(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A bottleneck, a headroom tier or a structure class: the first whose conditions hold."""

    name: str
    about: str
    when: tuple[str, ...] = ()

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse, self.when))


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What is allowed where: the first case that fits fires. What is left out fits anything."""

    name: str
    allow: tuple[str, ...]
    """Methods, the most promising first as long as nothing was learned."""
    bottleneck: tuple[str, ...] = ()
    headroom: tuple[str, ...] = ()
    structure: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    forbid: dict[str, str] = {}
    """Methods that would do harm here, with the reason."""

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse, self.when))


class Prohibition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Methods that do harm wherever its conditions hold, whatever the case."""

    name: str
    methods: tuple[str, ...]
    reason: str
    when: tuple[str, ...] = ()

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse, self.when))


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    backends: tuple[str, ...]
    bottlenecks: tuple[Bucket, ...] = ()
    headrooms: tuple[Bucket, ...] = ()
    structures: tuple[Bucket, ...] = ()
    cases: tuple[Case, ...] = ()
    prohibitions: tuple[Prohibition, ...] = ()
    additions: dict[str, tuple[str, ...]] = {}
    """Further methods for cases that stand in other files."""


class Table(NamedTuple):
    """All rules of one backend, in the order of the files' names."""

    backend: str
    bottlenecks: tuple[Bucket, ...]
    headrooms: tuple[Bucket, ...]
    structures: tuple[Bucket, ...]
    cases: tuple[Case, ...]
    prohibitions: tuple[Prohibition, ...]

    @property
    def rules(self) -> tuple[Bucket | Case | Prohibition, ...]:
        buckets = (*self.bottlenecks, *self.headrooms, *self.structures)
        return (*buckets, *self.cases, *self.prohibitions)


def read_rules(path: Path) -> RuleFile:
    """Raises UsageError that names the file and what is wrong in it."""
    try:
        rules = msgspec.yaml.decode(path.read_text(), type=RuleFile)
        for backend in rules.backends:
            for rule in table([rules], backend).rules:
                _ = rule.conditions
    except (msgspec.DecodeError, UsageError) as error:
        raise UsageError(f"{path}: {error}") from error
    return rules


def table(files: Sequence[RuleFile], backend: str) -> Table:
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
    return Table(
        backend,
        tuple(one for file in mine for one in file.bottlenecks),
        tuple(one for file in mine for one in file.headrooms),
        tuple(one for file in mine for one in file.structures),
        tuple(cases),
        tuple(one for file in mine for one in file.prohibitions),
    )
