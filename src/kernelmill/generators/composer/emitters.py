"""Emitters: what writes a traced graph out for a backend, and which decisions it takes.

An emitter is a plug-in: an `Emitter` behind the entry point `kernelmill.emitters`, under the name
of its backend.
"""

import functools
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.passes import ALGEBRA, rewritten
from kernelmill.generators.composer.plan import Plan
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
        return with_algebra(emitter)
    return None


def with_algebra(emitter: Emitter) -> Emitter:
    """An emitter that rewrites a graph before it writes, as far as its target can follow."""

    def program(graph: Graph, plan: Plan) -> Emitted:
        other = rewritten(graph, plan)
        if other is not graph:
            try:
                return emitter.program(other, plan)
            except Declined:  # the target lacks an operator that the rewrites have brought in
                pass
        return emitter.program(graph, plan)

    return Emitter(program, {**emitter.catalogue, **ALGEBRA})
