"""Attempts: claims, results, and the stored record with its verdict and cost."""

import enum
from typing import NamedTuple

import msgspec

from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Diagnosis, Guidance, Plan
from kernelmill.records.model_calls import ModelCall
from kernelmill.records.proposal import Credit, Draft, Hint, Proposal, Stage
from kernelmill.records.verdict import LOST, Verdict


class State(enum.StrEnum):
    """State of an attempt."""

    CLAIMED = "claimed"
    """A process works on it, or died doing so; all other states are final."""
    PASSED = "passed"
    REFUSED = "refused"
    """The judge refused the candidate."""
    DECLINED = "declined"
    """The generator produced no candidate."""


class VerdictKind(enum.StrEnum):
    """Purpose of a verdict; one attempt may have one of each."""

    FIRST = "first"
    CONFIRMING = "confirming"
    """A second verdict, from a new process, that a champion needs to replace the incumbent."""
    FINAL = "final"
    """The verdict on the last champion, measured against torch.compile too."""


class Claim(NamedTuple):
    """An attempt that this process has claimed."""

    attempt: int
    number: int


class Seconds(msgspec.Struct, frozen=True):
    """Seconds that the phases of an attempt took."""

    generate: float = 0.0
    build: float = 0.0
    wait: float = 0.0
    """Time in which the judge was idle; the rest of generating and building overlapped with other
    attempts."""
    measure: float = 0.0


class Remeasured(msgspec.Struct, frozen=True):
    """A later verdict on an earlier attempt, from a new process."""

    attempt: int
    verdict: Verdict


class Result(msgspec.Struct, frozen=True):
    """Outcome of a claimed attempt, not yet stored."""

    proposal: Proposal
    seconds: Seconds
    draft: Draft | None = None
    verdict: Verdict | None = None
    confirming: Verdict | None = None
    champion: bool = False
    declined: str = ""
    """The reason why the generator declined; empty where it did not."""
    declined_calls: tuple[ModelCall, ...] = ()
    """Model calls of an attempt that was declined."""
    remeasured: tuple[Remeasured, ...] = ()
    """Verdicts on the earlier attempts that the proposal names."""
    lesson: str = ""
    """What a summariser says that the verdict teaches; empty where none did."""

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        return self.declined_calls if self.draft is None else self.draft.calls

    @property
    def deciding(self) -> Verdict | None:
        """The verdict that counts."""
        return self.confirming or self.verdict

    @property
    def state(self) -> State:
        if self.deciding is None:
            return State.DECLINED
        return State.PASSED if self.deciding.passed else State.REFUSED


class Attempt(msgspec.Struct, frozen=True):
    """A finished attempt, without its source and verdicts, which the workspace reads on demand."""

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
    """One line on why it was refused or declined; empty where it passed."""
    latency_ms: float | None
    ratio: float | None
    """Baseline latency over its own, as last measured before it was stored."""
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
    credit: Credit | None = None
    """Items of the context that reached the writer, and those that it used; None: it is unknown."""
    peak_bytes: int | None = None
    """Peak memory of a call; None where it is unknown."""
    energy_joules: float | None = None

    @property
    def is_judged(self) -> bool:
        """Whether its candidate passed or was refused for what it is. A decline says nothing of a
        kernel, and neither does a runner that was lost."""
        _, _, reason = self.reason.partition(": ")
        lost = self.state is State.REFUSED and reason.startswith(f"{LOST}: ")
        return self.state is not State.DECLINED and not lost


class AttemptPlan(msgspec.Struct, frozen=True):
    """Guidance, plan and diagnosis of an attempt, as far as it had any."""

    guidance: Guidance | None
    plan: Plan | None
    diagnosis: Diagnosis | None


class Observation(NamedTuple):
    """An attempt as it is stored, for a strategy to learn from."""

    attempt: Attempt
    result: Result
    best_before: float | None
    """The best ratio of its task before it, in its campaign."""
    generator: str


class AttemptOutcome(msgspec.Struct, frozen=True, array_like=True):
    """The columns of an attempt that a report needs."""

    task: int
    number: int
    state: State
    ratio: float | None


class WrittenByModel(msgspec.Struct, frozen=True):
    """A finished attempt, credited to the model that wrote it."""

    model: str
    ratio: float | None
    """That of its best combination, where it was a template."""
    best_before: float | None
    """The best ratio of its task before it."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    """Tokens of the calls to the model; None where they are unknown."""


class AttemptResources(msgspec.Struct, frozen=True):
    """What a kernel that passed takes besides time; None where it was not measured."""

    task: int
    attempt: int
    latency_ms: float
    speed: float
    """As a multiple of the baseline's, over all of its measurements."""
    peak_bytes: int | None
    energy_joules: float | None
