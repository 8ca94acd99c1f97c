"""The generator that needs no model: it traces, plans, and writes C++."""

import threading
from typing import ClassVar

import msgspec

from kernelmill.candidate import Candidate, Origin
from kernelmill.errors import GeneratorUnavailable, UsageError
from kernelmill.generators.base import Declined, Draft, Generator, Proposal
from kernelmill.generators.composer.choosing import choose
from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.program import Program
from kernelmill.generators.composer.graph import Graph
from kernelmill.generators.composer.planning import plan_method
from kernelmill.generators.composer.repairing import repair
from kernelmill.generators.decisions import Decisions
from kernelmill.sandbox import CellFailure, Limits, Policy, Zygote
from kernelmill.tasks.task import Task

_TRACER = "kernelmill.generators.composer.trace"
_COLD = "cold"
_SECONDS = 180.0
_LIMITS = Limits(memory_bytes=8 << 30)


class Composer(Generator):
    """Keeps one warm process for tracing, the graphs it has traced, and what is open in each."""

    name: ClassVar[str] = "composer"
    computes: ClassVar[bool] = True

    def __init__(self, mode: str = "") -> None:
        """`cold` knows no usual choices: what it is not told it draws by lot."""
        if mode not in ("", _COLD):
            raise UsageError(f"the composer has no mode {mode!r}; there is {_COLD}")
        self._cold = mode == _COLD
        self._zygote: Zygote | None = None
        self._graphs: dict[str, Graph | Declined] = {}
        self._open: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def check(self, backend: str) -> None:
        if backend != "cpp":
            raise GeneratorUnavailable(f"the composer does not write for backend {backend!r} yet")

    def write(self, proposal: Proposal) -> Draft:
        graph = self.trace(proposal.task)
        open_decisions = self._open_decisions(proposal.task, graph)
        planned = plan_method(proposal, open_decisions)
        if planned is not None:
            candidate = self._candidate(proposal.task, graph, planned.decisions)
            prediction = planned.plan.expects
            return Draft(candidate, planned.decisions, prediction, planned.plan)
        repaired = repair(proposal, open_decisions)
        if repaired is not None:
            candidate = self._candidate(proposal.task, graph, repaired.decisions)
            return Draft(candidate, repaired.decisions, diagnosis=repaired.diagnosis)
        decisions = choose(proposal, open_decisions, self._cold)
        return Draft(self._candidate(proposal.task, graph, decisions), decisions)

    def _candidate(self, task: Task, graph: Graph, decisions: Decisions) -> Candidate:
        return Candidate(Program(graph, Plan(decisions)).files(task), Origin.COMPOSER, task.id)

    def trace(self, task: Task) -> Graph:
        """The graph of a task; raises Declined."""
        with self._lock:
            if task.digest not in self._graphs:
                self._graphs[task.digest] = self._trace(task)
            found = self._graphs[task.digest]
        if isinstance(found, Declined):
            raise found
        return found

    def _open_decisions(self, task: Task, graph: Graph) -> list[str]:
        """Those that make a difference to its code."""
        if task.digest not in self._open:
            usual = Plan({})
            Program(graph, usual).files(task)
            self._open[task.digest] = sorted(usual.consulted)
        return self._open[task.digest]

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def _trace(self, task: Task) -> Graph | Declined:
        if self._zygote is None:
            self._zygote = Zygote((_TRACER,), threads=1)
        request = {"source": task.source, "scale": task.scale}
        try:
            policy = Policy(limits=_LIMITS)
            with self._zygote.spawn(f"{_TRACER}:trace_in_cell", {}, policy) as cell:
                answer = cell.request(request, _SECONDS).body
        except CellFailure as failure:
            return Declined(f"the reference cannot be traced: {failure}")
        if "error" in answer:
            return Declined(f"the reference cannot be traced: {answer['error']}")
        return msgspec.convert(answer["graph"], Graph)
