"""Method files: front matter, and a code case for each backend."""

import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.records.candidate import MODEL_FILE, Candidate, Origin
from kernelmill.records.decisions import Choice
from kernelmill.records.errors import CandidateError, UsageError
from kernelmill.records.source_diff import source_diff
from kernelmill.records.target import backend_name
from kernelmill.skills.predicates import Predicate, parse_predicate

_FRONT = re.compile(r"---\n(?P<front>.*?)\n---\n(?P<body>.*)", re.DOTALL)
_SECTION = re.compile(r"^## (?P<backend>\w+): (?P<which>before|after)$", re.MULTILINE)
_FILE = re.compile(r"^```\w* (?P<name>[\w./-]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MOST_LINES = 160
_EXPECTS = re.compile(r"(?P<metric>\w+) (?P<direction>up|down)")


class Expectation(NamedTuple):
    """The direction in which a method moves a metric."""

    metric: str
    direction: str
    """`up` or `down`."""

    def __str__(self) -> str:
        return f"{self.metric} {self.direction}"


class MethodOnBackend(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """How a method is carried out on one backend."""

    how: str
    """Instructions: pragmas, functions, sizes."""
    expects: str
    """`metric up` or `metric down`."""
    case: str
    """The task that its code case solves."""
    when: tuple[str, ...] = ()
    """Conditions under which the method applies."""
    decisions: dict[str, Choice | tuple[Choice, ...]] = {}
    """Decisions of the composer that carry it out; several choices are tried in turn."""

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return tuple(map(parse_predicate, self.when))

    @cached_property
    def expectation(self) -> Expectation:
        found = _EXPECTS.fullmatch(self.expects)
        if found is None:
            raise UsageError(
                f"{self.expects!r}: write an expectation as `metric up` or `metric down`"
            )
        return Expectation(found["metric"], found["direction"])

    @property
    def alternatives(self) -> dict[str, tuple[Choice, ...]]:
        return {
            name: choices if isinstance(choices, tuple) else (choices,)
            for name, choices in self.decisions.items()
        }


class FrontMatter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The YAML between the two lines of dashes."""

    name: str
    title: str
    intent: str
    structures: tuple[str, ...]
    backends: dict[str, MethodOnBackend]
    forbidden: tuple[str, ...] = ()
    """Patterns that must not be used to carry it out."""
    conflicts: tuple[str, ...] = ()
    """Methods whose effect it would undo."""


class CodeCase(NamedTuple):
    """A complete candidate that shows a kernel with or without the method."""

    backend: str
    which: str
    """`before` or `after`."""
    task: str
    candidate: Candidate


class MethodFile(NamedTuple):
    """A method as its file describes it."""

    front: FrontMatter
    cases: tuple[CodeCase, ...]
    path: Path

    @property
    def name(self) -> str:
        return self.front.name

    def on(self, target: str) -> MethodOnBackend | None:
        """How it is carried out on a target; None where it cannot be."""
        return self.front.backends.get(backend_name(target))

    def text(self, target: str) -> str:
        """Instructions for a target, which must be one that the method can be carried out on."""
        how = self.front.backends[backend_name(target)].how.strip()
        never = "".join(f"\nNever: {pattern}" for pattern in self.front.forbidden)
        return f"{self.front.title}. {self.front.intent.strip()}\n{how}{never}"

    def code(self, target: str) -> str:
        """The change from its case before to that after; the latter alone without a former."""
        cases = {
            case.which: case.candidate.files
            for case in self.cases
            if case.backend == backend_name(target)
        }
        after = cases.get("after", {})
        if "before" in cases:
            return source_diff(cases["before"], after, _MOST_LINES)
        kernels = [text for name, text in after.items() if name != MODEL_FILE]
        lines = "\n".join(kernels or after.values()).splitlines()
        return "\n".join(lines[:_MOST_LINES])


def read_method(path: Path) -> MethodFile:
    """Read and check a method file. Raises UsageError that names the file and the mistake."""
    found = _FRONT.fullmatch(path.read_text())
    if found is None:
        raise UsageError(f"{path}: there is no front matter between two lines of dashes")
    try:
        front = msgspec.yaml.decode(found["front"], type=FrontMatter)
        for part in front.backends.values():
            _ = part.conditions, part.expectation
        if front.name != path.stem:
            raise UsageError(f"its name is {front.name!r}, but its file is called {path.stem!r}")
        return MethodFile(front, tuple(_cases(front, found["body"])), path)
    except (msgspec.DecodeError, UsageError, CandidateError) as error:
        raise UsageError(f"{path}: {error}") from error


def _cases(front: FrontMatter, body: str) -> list[CodeCase]:
    parts = _SECTION.split(body)[1:]
    files = {
        (backend, which): {found["name"]: found["text"] for found in _FILE.finditer(text)}
        for backend, which, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
    cases = []
    for (backend, which), own in files.items():
        if backend not in front.backends:
            raise UsageError(f"there is a code case for {backend}, but no entry under `backends`")
        whole = files.get((backend, "after"), {}) | own
        candidate = Candidate(whole, Origin.SHIPPED, f"{front.name} on {backend}, {which}")
        cases.append(CodeCase(backend, which, front.backends[backend].case, candidate))
    return cases
