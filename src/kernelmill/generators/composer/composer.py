"""The built-in generator: traces a reference, chooses decisions, and writes kernels."""

import threading
from contextlib import suppress
from functools import partial
from typing import ClassVar

import msgspec

from kernelmill.generators.base import Declined, Generator, TaskDeclined
from kernelmill.generators.composer.emitters import Emitter, get_emitter
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.lowering.listing import lowered_text
from kernelmill.generators.composer.passes import ALGEBRA, WITHOUT_ALGEBRA
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.search.credit import credit_of
from kernelmill.generators.composer.search.planning import asked_decisions, plan_method
from kernelmill.generators.composer.search.repairing import repair
from kernelmill.generators.composer.search.sampler import choose
from kernelmill.generators.composer.search.tried import Tried
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.decisions import Choice, Choices, Decisions
from kernelmill.records.errors import GeneratorUnavailable, UsageError
from kernelmill.records.numerics import Numerics
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.sweep import Parameter, SweepSpace
from kernelmill.records.target import backend_name
from kernelmill.records.task import Task
from kernelmill.sandbox import Policy, ResourceLimits, SandboxFailure, Zygote

_TRACER = "kernelmill.generators.composer.tracing.trace"
_COLD = "cold"
_SECONDS = 180.0
_LIMITS = ResourceLimits(memory_bytes=8 << 30)


class Composer(Generator):
    """Keeps one warm process for tracing, and what it has found out: graphs, what is open in each,
    what comes of which decisions."""

    name: ClassVar[str] = "composer"
    computes: ClassVar[bool] = True

    def __init__(self, mode: str = "") -> None:
        """`cold` knows no defaults: what it is not told it draws at random."""
        if mode not in ("", _COLD):
            raise UsageError(f"the composer has no mode {mode!r}; there is {_COLD}")
        self._cold = mode == _COLD
        self._zygote: Zygote | None = None
        self._graphs: dict[str, Graph | Declined] = {}
        self._open: dict[tuple[str, str], Choices] = {}
        self._codes: dict[tuple[str, str, tuple[tuple[str, Choice], ...]], str] = {}
        self._tracing: dict[str, threading.Lock] = {}
        """One for every task: several are traced at once, none of them twice."""
        self._lock = threading.Lock()

    def check(self, backend: str) -> None:
        if get_emitter(backend_name(backend)) is None:
            raise GeneratorUnavailable(f"the composer does not write for backend {backend!r} yet")

    def study(self, task: Task) -> None:
        with suppress(Declined):  # `write` says it
            self.trace(task)

    def write(self, proposal: Proposal) -> Draft:
        try:
            graph = self.trace(proposal.task)
            choices = self._open_choices(proposal, graph)
        except Declined as declined:
            raise TaskDeclined(
                f"the composer cannot write {proposal.task.id}: {declined}. "
                "A language model may: --generator model --model NAME"
            ) from declined
        draft = self._draft(proposal, graph, choices)
        parameters = tuple(Parameter(name, tuple(some)) for name, some in choices.items())
        return msgspec.structs.replace(draft, space=SweepSpace(parameters))

    def _draft(self, proposal: Proposal, graph: Graph, choices: Choices) -> Draft:
        tried = Tried(proposal, partial(self._code, proposal, graph))
        asked = asked_decisions(proposal, choices, tried)
        if asked is not None:
            credit = credit_of(proposal, asked, choices)
            return Draft(_candidate(proposal, graph, asked), asked, credit=credit)
        planned = plan_method(proposal, choices, tried)
        if planned is not None:
            candidate = _candidate(proposal, graph, planned.decisions)
            prediction = planned.plan.expects
            credit = credit_of(proposal, planned.decisions, choices)
            return Draft(candidate, planned.decisions, prediction, planned.plan, credit=credit)
        repaired = repair(proposal, choices, tried)
        if repaired is not None:
            candidate = _candidate(proposal, graph, repaired.decisions)
            credit = credit_of(proposal, repaired.decisions, choices)
            return Draft(candidate, repaired.decisions, diagnosis=repaired.diagnosis, credit=credit)
        decisions = choose(proposal, choices, tried, self._cold)
        credit = credit_of(proposal, decisions, choices)
        return Draft(_candidate(proposal, graph, decisions), decisions, credit=credit)

    def trace(self, task: Task) -> Graph:
        """The graph of a task; raises Declined."""
        with self._lock:
            tracing = self._tracing.setdefault(task.digest, threading.Lock())
        with tracing:
            if task.digest not in self._graphs:
                self._graphs[task.digest] = self._trace(task)
            found = self._graphs[task.digest]
        if isinstance(found, Declined):
            raise found
        return found

    def lowered(self, task: Task) -> str:
        """What kernels are made of, in readable form; raises Declined."""
        return lowered_text(self.trace(task))

    def _open_choices(self, proposal: Proposal, graph: Graph) -> Choices:
        """Of the decisions that make a difference to its code."""
        key = proposal.task.digest, proposal.backend
        if key not in self._open:
            emitter = _emitter(proposal)
            consulted = _consulted(emitter, graph, proposal.task, {})
            if consulted & ALGEBRA.keys():
                consulted |= _consulted(emitter, graph, proposal.task, WITHOUT_ALGEBRA)
            self._open[key] = {name: emitter.catalogue[name].choices for name in sorted(consulted)}
        return self._open[key]

    def _code(self, proposal: Proposal, graph: Graph, decisions: Decisions) -> str:
        """A digest of what comes of these decisions."""
        key = proposal.task.digest, proposal.backend, tuple(sorted(decisions.items()))
        if key not in self._codes:
            self._codes[key] = _candidate(proposal, graph, decisions).digest
        return self._codes[key]

    def close(self) -> None:
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def _trace(self, task: Task) -> Graph | Declined:
        with self._lock:
            if self._zygote is None:
                self._zygote = Zygote((_TRACER,), threads=1)
            zygote = self._zygote
        request = {"source": task.source, "scale": task.scale}
        try:
            policy = Policy(limits=_LIMITS)
            with zygote.spawn(f"{_TRACER}:trace_in_sandbox", {}, policy) as sandbox:
                answer = sandbox.request(request, _SECONDS).body
        except SandboxFailure as failure:
            return Declined(f"the reference cannot be traced: {failure}")
        if "error" in answer:
            return Declined(f"the reference cannot be traced: {answer['error']}")
        return msgspec.convert(answer["graph"], Graph)


def _candidate(proposal: Proposal, graph: Graph, decisions: Decisions) -> Candidate:
    emitter = _emitter(proposal)
    plan = Plan(decisions, emitter.catalogue, _numerics(proposal.task))
    program = emitter.program(graph, plan)
    return Candidate(program.files(proposal.task), Origin.COMPOSER, proposal.task.id)


def _numerics(task: Task) -> Numerics:
    """What a kernel may round: no more than the reference itself does."""
    return task.numerics if task.is_rounded else Numerics.IEEE


def _consulted(emitter: Emitter, graph: Graph, task: Task, decisions: Decisions) -> set[str]:
    plan = Plan(decisions, emitter.catalogue, _numerics(task))
    emitter.program(graph, plan).files(task)
    return plan.consulted


def _emitter(proposal: Proposal) -> Emitter:
    emitter = get_emitter(backend_name(proposal.backend))
    if emitter is None:
        raise Declined(f"the composer does not write for backend {proposal.backend!r} yet")
    return emitter
