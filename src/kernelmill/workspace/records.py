"""What a workspace holds, as types."""

import enum
from typing import NamedTuple

import msgspec

from kernelmill.generators.base import Draft, Hint, Proposal, Stage
from kernelmill.generators.calls import Call
from kernelmill.generators.decisions import Decisions
from kernelmill.generators.model.settings import ModelSettings
from kernelmill.generators.planning import Diagnosis, Guidance, Plan
from kernelmill.judge import Verdict
from kernelmill.tasks.task import Task


class CampaignSettings(msgspec.Struct, frozen=True):
    """What a campaign was asked to do."""

    suites: tuple[str, ...]
    backend: str
    generator: str
    strategy: str
    budget: int
    """Attempts a task."""
    seed: int
    scale: str
    threads: int
    compiled: bool
    """Whether the champions are measured against torch.compile in the end."""
    allow_unsandboxed: bool = False
    max_usd: float | None = None
    rounds: int = 24
    devices: tuple[int, ...] = ()
    """Numbers of the devices it is judged on at once; none named: one judge, on the first."""
    models: ModelSettings | None = None
    """Whom the generator asks, with the prices of that day; None where it asks nobody."""


class Campaign(msgspec.Struct, frozen=True):
    id: int
    made_at: str
    settings: CampaignSettings


class NewTask(NamedTuple):
    """A task as a campaign begins: described, or set aside with the reason."""

    name: str
    task: Task | None
    set_aside: str | None = None


class CampaignTask(msgspec.Struct, frozen=True):
    position: int
    name: str
    task: int | None
    """Its number in the workspace; None where it never loaded."""
    set_aside: str | None
    """Why nobody works on it any more; None while somebody does."""
    champion: int | None
    described: Task | None


class State(enum.StrEnum):
    PLANNED = "planned"
    PASSED = "passed"
    REFUSED = "refused"
    DECLINED = "declined"


class VerdictKind(enum.StrEnum):
    FIRST = "first"
    CONFIRMING = "confirming"
    """Of a champion, from a process of its own, before it replaced the incumbent."""
    FINAL = "final"
    """Of the last champion, against torch.compile too."""


class Claim(NamedTuple):
    """An attempt that is this process's to make."""

    attempt: int
    number: int


class Seconds(msgspec.Struct, frozen=True):
    """Where the time of an attempt went."""

    generate: float = 0.0
    build: float = 0.0
    wait: float = 0.0
    """How long the judge stood idle for it; the rest of generating and building overlapped."""
    measure: float = 0.0


class Result(msgspec.Struct, frozen=True):
    """What came of a claimed attempt."""

    proposal: Proposal
    seconds: Seconds
    draft: Draft | None = None
    verdict: Verdict | None = None
    confirming: Verdict | None = None
    champion: bool = False
    declined: str = ""
    in_vain: tuple[Call, ...] = ()
    """What a decline cost."""

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.in_vain if self.draft is None else self.draft.calls

    @property
    def deciding(self) -> Verdict | None:
        return self.confirming or self.verdict

    @property
    def state(self) -> State:
        if self.deciding is None:
            return State.DECLINED
        return State.PASSED if self.deciding.passed else State.REFUSED


class Attempt(msgspec.Struct, frozen=True):
    """A finished attempt, without its source and verdicts, which are fetched where needed."""

    id: int
    campaign: int
    task: int
    task_name: str
    number: int
    state: State
    stage: Stage
    seed: int
    parent: int | None
    gate: str | None
    reason: str
    """Of a refusal or a decline, in one line; empty where it passed."""
    latency_ms: float | None
    ratio: float | None
    """Eager's latency over its own, as last measured before it was stored."""
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    seconds: Seconds
    source: str | None
    origin: str | None
    instruction: str
    prediction: str
    decisions: Decisions
    context: tuple[Hint, ...]
    done_at: str


class Planned(msgspec.Struct, frozen=True):
    """What was allowed, planned and diagnosed for an attempt."""

    guidance: Guidance | None
    plan: Plan | None
    diagnosis: Diagnosis | None


class Observation(NamedTuple):
    """An attempt as it is stored, with what there is to learn from."""

    attempt: Attempt
    result: Result
    best_before: float | None
    """The best ratio to eager of the task before it, in its campaign."""
    generator: str


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """The little a report needs of each attempt."""

    task: int
    number: int
    state: State
    ratio: float | None


class Totals(msgspec.Struct, frozen=True):
    """Sums over the attempts of a campaign."""

    done: int
    planned: int
    passed: int
    solved: int
    known_usd: float
    unpriced: int
    """Drafts whose price nobody knows."""
    dearest_usd: float | None
    wait_seconds: float
    measure_seconds: float


class Spending(msgspec.Struct, frozen=True):
    """What one model cost in one role on one task; None where a part of it is unknown."""

    task: str
    role: str
    model: str
    calls: int
    cached: int
    problems: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


class Event(msgspec.Struct, frozen=True):
    at: str
    kind: str
    text: str


class Best(msgspec.Struct, frozen=True):
    name: str
    attempt: int
    ratio: float
