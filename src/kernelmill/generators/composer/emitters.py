"""Emitters: what writes a traced graph out for a backend, and which decisions it takes.

An emitter is a plug-in: an `Emitter` behind the entry point `kernelmill.emitters`, under the name
of its backend.
"""

import functools
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.graph import Graph
from kernelmill.records.decisions import Catalogue
from kernelmill.records.task import Task

_GROUP = "kernelmill.emitters"


class Emitted(Protocol):
    """A program for one graph and one plan."""

    def files(self, task: Task) -> dict[str, str]: ...


class Emitter(NamedTuple):
    program: Callable[[Graph, Plan], Emitted]
    catalogue: Catalogue


@functools.cache
def get_emitter(backend: str) -> Emitter | None:
    """The emitter for a backend; None where the composer does not write for it."""
    for entry in entry_points(group=_GROUP, name=backend):
        emitter: Emitter = entry.load()
        return emitter
    return None
