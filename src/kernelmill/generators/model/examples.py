"""The shipped candidate that tells most about a task."""

import functools
import re
from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill.backends.base import Backend
from kernelmill.backends.reading import read_candidate
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.errors import KernelmillError
from kernelmill.records.task import Task
from kernelmill.tasks import load_suite

_CALLED = re.compile(r"\b(?:torch|F|nn|functional)\.(\w+)")
"""What a reference calls of the framework."""
_COMMON = frozenset("torch nn module parameter tensor randn empty zeros ones rand".split())


class Example(NamedTuple):
    candidate: Candidate
    """Named after its task."""
    family: str
    """Family of its task; empty where the task is not known."""
    words: Set[str]

    @property
    def size(self) -> int:
        return sum(map(len, self.candidate.files.values()))


def relevant_example(target: Backend, task: Task) -> Candidate | None:
    """The shipped candidate, for another task, whose task is most like this one.

    One of its family comes first, then the one whose reference shares most words; of equals the
    shortest is taken.
    """
    wanted = _words(task.id, task.source)

    def likeness(example: Example) -> tuple[bool, float, int]:
        shared = len(wanted & example.words) / max(1, len(wanted | example.words))
        return example.family == task.family, shared, -example.size

    others = (one for one in examples_of(target) if one.candidate.name != task.id)
    best = max(others, key=likeness, default=None)
    return None if best is None else best.candidate


def examples_of(target: Backend) -> tuple[Example, ...]:
    return _read(target.examples(), target.entry)


@functools.cache
def _read(folder: Path, entry: str) -> tuple[Example, ...]:
    found = []
    for path in sorted(folder.rglob(entry)):
        name = str(path.parent.relative_to(folder))
        candidate = read_candidate(path.parent, Origin.SHIPPED)
        candidate = msgspec.structs.replace(candidate, name=name)
        try:
            (task,) = load_suite(name)
        except (KernelmillError, ValueError):
            found.append(Example(candidate, "", _words(name, "")))
        else:
            found.append(Example(candidate, task.family or "", _words(name, task.source)))
    return tuple(found)


def _words(name: str, source: str) -> frozenset[str]:
    text = f"{name.rpartition('/')[2]} {' '.join(_CALLED.findall(source))}"
    return frozenset(re.findall(r"[a-z]+", text.lower())) - _COMMON
