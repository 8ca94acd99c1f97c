"""Guidance of a strategy, and the plan or diagnosis a generator makes from it."""

from typing import Literal

import msgspec

from kernelmill.records.decisions import Decisions

Judgement = Literal["worked", "wrong method", "poor implementation", "undecided"]


class Method(msgspec.Struct, frozen=True):
    """An optimisation method that may be tried now."""

    name: str
    text: str
    """Its intent, how it is done on this backend, and what must not be done."""
    expects: str
    """The change of a metric that it should bring."""
    decisions: Decisions = {}
    """Decisions it stands for, for a generator that works by decisions."""
    item: int | None = None
    """Id of its item in the memory, under the rule that allows it here."""
    tried: str = ""
    """Its result on this task so far: tried again only with a stated difference. Empty: untried."""
    code: str = ""
    """Its code case: the change that carries it out, or a kernel that has it. Not stored with an
    attempt: the skill library has it."""


class TrajectoryStep(msgspec.Struct, frozen=True):
    """Plan and outcome of one earlier attempt of a task."""

    attempt: int
    method: str
    """Name of the method; empty for a repair."""
    plan: str
    outcome: str
    judgement: Judgement


class Guidance(msgspec.Struct, frozen=True):
    """Methods that the rules allow on a task now, and those tried on it before."""

    rule: str
    """Name of the rule that fired."""
    bottleneck: str
    headroom: str
    structure: str
    evidence: tuple[str, ...]
    """The metrics it fired on, with their values."""
    methods: tuple[Method, ...]
    """Allowed methods, the most promising first."""
    forbidden: dict[str, str]
    """Methods that must not be used here, with the reason for each."""
    trajectory: tuple[TrajectoryStep, ...] = ()

    def without_code(self) -> "Guidance":
        """The guidance as it is stored."""
        methods = tuple(msgspec.structs.replace(method, code="") for method in self.methods)
        return msgspec.structs.replace(self, methods=methods)


class Plan(msgspec.Struct, frozen=True):
    """A chosen method, spelled out before any code is written."""

    method: str
    steps: tuple[str, ...]
    evidence: str
    """A metric quoted from the guidance."""
    ruled_out: str
    """A bottleneck that was ruled out, and why."""
    expects: str
    """The expected change of a metric; checked against the verdict afterwards."""
    difference: str = ""
    """Difference to the last time the method was tried on this task."""


class Diagnosis(msgspec.Struct, frozen=True):
    """Cause of a refusal, stated before anything is repaired."""

    issue: str
    evidence: str
    """Quoted from the verdict."""
    cause: str
    invariants: tuple[str, ...]
    """Properties that the repair must preserve."""
    fix: str
    confidence: float
