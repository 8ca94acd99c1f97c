"""What passes between a strategy that knows methods and a generator that carries one out."""

from typing import Literal

import msgspec

from kernelmill.generators.decisions import Decisions

Judgement = Literal["worked", "wrong method", "poor implementation", "undecided"]


class Method(msgspec.Struct, frozen=True):
    """One way to make a kernel better that may be tried now."""

    name: str
    text: str
    """Its intent, how it is done on this backend, and what must not be done."""
    expects: str
    """The change of a metric it should bring."""
    decisions: Decisions = {}
    """What it asks of a generator that works by decisions."""
    item: int | None = None
    """Its number in the memory, under the rule that allows it here."""
    tried: str = ""
    """What came of it on this task: it may return only with a stated difference."""


class Step(msgspec.Struct, frozen=True):
    """What was planned for one attempt of a task, and what came of it."""

    attempt: int
    method: str
    """Empty for a repair."""
    plan: str
    outcome: str
    judgement: Judgement


class Guidance(msgspec.Struct, frozen=True):
    """What the rules allow on a task as it stands, and what was tried on it."""

    rule: str
    """The one that fired."""
    bottleneck: str
    headroom: str
    structure: str
    evidence: tuple[str, ...]
    """The metrics it fired on, as they were read."""
    methods: tuple[Method, ...]
    """Those it allows, the most promising first."""
    forbidden: dict[str, str]
    """Methods that must not be used here, each with the reason."""
    trajectory: tuple[Step, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """One method, chosen and spelled out before any code is written."""

    method: str
    steps: tuple[str, ...]
    evidence: str
    """A metric as it stands in the guidance."""
    ruled_out: str
    """A bottleneck it is not, and why."""
    expects: str
    """The change of a metric; checked against the verdict afterwards."""
    difference: str = ""
    """To the last time the method was tried on this task."""


class Diagnosis(msgspec.Struct, frozen=True):
    """Why a candidate was refused, before anything is repaired."""

    issue: str
    evidence: str
    """Copied from the verdict."""
    cause: str
    invariants: tuple[str, ...]
    """What the repair must leave as it is."""
    fix: str
    confidence: float
