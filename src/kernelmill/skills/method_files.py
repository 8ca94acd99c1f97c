"""Methods as people write them: front matter, notes, and a code case for each backend."""

import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.candidate import Candidate, Origin
from kernelmill.errors import CandidateError, UsageError
from kernelmill.generators.decisions import Choice
from kernelmill.skills.predicates import Predicate, parse

_FRONT = re.compile(r"---\n(?P<front>.*?)\n---\n(?P<body>.*)", re.DOTALL)
_SECTION = re.compile(r"^## (?P<backend>\w+): (?P<which>before|after)$", re.MULTILINE)
_FILE = re.compile(r"^```\w* (?P<name>[\w./-]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_EXPECTS = re.compile(r"(?P<metric>\w+) (?P<direction>up|down)")


class Expectation(NamedTuple):
    metric: str
    direction: str
    """`up` or `down`."""

    def __str__(self) -> str:
        return f"{self.metric} {self.direction}"


class OnBackend(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A method as it is done on one backend."""

    how: str
    expects: str
    """`metric up` or `metric down`."""
    case: str
    """The task its code case solves."""
    when: tuple[str, ...] = ()
    """It is offered only where all of this holds."""
    decisions: dict[str, Choice | tuple[Choice, ...]] = {}
    """What it asks of the composer; several choices are tried in turn."""

    @cached_property
    def needs(self) -> tuple[Predicate, ...]:
        return tuple(map(parse, self.when))

    @cached_property
    def expectation(self) -> Expectation:
        found = _EXPECTS.fullmatch(self.expects)
        if found is None:
            raise UsageError(f"{self.expects!r} is no expectation: `metric up` or `metric down`")
        return Expectation(found["metric"], found["direction"])

    @property
    def alternatives(self) -> dict[str, tuple[Choice, ...]]:
        return {
            name: choices if isinstance(choices, tuple) else (choices,)
            for name, choices in self.decisions.items()
        }


class Front(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands between the two lines of dashes."""

    name: str
    title: str
    intent: str
    structures: tuple[str, ...]
    backends: dict[str, OnBackend]
    forbidden: tuple[str, ...] = ()
    """What must not be done in its name."""
    conflicts: tuple[str, ...] = ()
    """Methods whose work it would undo."""


class CodeCase(NamedTuple):
    backend: str
    which: str
    """`before` or `after`."""
    task: str
    candidate: Candidate


class WrittenMethod(NamedTuple):
    """One file."""

    front: Front
    cases: tuple[CodeCase, ...]
    path: Path

    @property
    def name(self) -> str:
        return self.front.name

    def text(self, backend: str) -> str:
        """What whoever carries it out needs to know."""
        how = self.front.backends[backend].how.strip()
        never = "".join(f"\nNever: {pattern}" for pattern in self.front.forbidden)
        return f"{self.front.title}. {self.front.intent.strip()}\n{how}{never}"


def read_method(path: Path) -> WrittenMethod:
    """Raises UsageError that names the file and what is wrong in it."""
    found = _FRONT.fullmatch(path.read_text())
    if found is None:
        raise UsageError(f"{path}: no front matter between two lines of dashes")
    try:
        front = msgspec.yaml.decode(found["front"], type=Front)
        for part in front.backends.values():
            _ = part.needs, part.expectation
        if front.name != path.stem:
            raise UsageError(f"it is called {front.name!r}, its file is not")
        return WrittenMethod(front, tuple(_cases(front, found["body"])), path)
    except (msgspec.DecodeError, UsageError, CandidateError) as error:
        raise UsageError(f"{path}: {error}") from error


def _cases(front: Front, body: str) -> list[CodeCase]:
    parts = _SECTION.split(body)[1:]
    files = {
        (backend, which): {found["name"]: found["text"] for found in _FILE.finditer(text)}
        for backend, which, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
    cases = []
    for (backend, which), own in files.items():
        if backend not in front.backends:
            raise UsageError(f"a case for {backend}, but nothing on how it is done there")
        whole = files.get((backend, "after"), {}) | own
        candidate = Candidate(whole, Origin.SHIPPED, f"{front.name} on {backend}, {which}")
        cases.append(CodeCase(backend, which, front.backends[backend].case, candidate))
    return cases
