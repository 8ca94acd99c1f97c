"""Campaigns: their settings, tasks, totals and events."""

import enum
from typing import NamedTuple

import msgspec

from kernelmill.records.model_settings import ModelSettings
from kernelmill.records.numerics import Numerics
from kernelmill.records.sweep import SweepSettings
from kernelmill.records.task import Task


class CampaignSettings(msgspec.Struct, frozen=True):
    """Settings of a campaign, as the user gave them."""

    suites: tuple[str, ...]
    backend: str
    generator: str
    strategy: str
    budget: int
    """Attempts per task."""
    seed: int
    scale: str
    threads: int
    compiled: bool
    """Whether champions are measured against torch.compile at the end."""
    allow_unsandboxed: bool = False
    max_usd: float | None = None
    """Cost limit of the campaign in US dollars; None: unlimited."""
    rounds: int = 24
    """Timing rounds per verdict."""
    devices: tuple[int, ...] = ()
    """Indices of the devices it is judged on in parallel; empty: only the first device."""
    numerics: Numerics = Numerics.IEEE
    models: ModelSettings | None = None
    """Models of the generator, with their prices at the start; None where it uses no models."""
    sweep: SweepSettings = SweepSettings()
    """How the combinations of a template are measured."""


class Campaign(msgspec.Struct, frozen=True):
    id: int
    made_at: str
    settings: CampaignSettings


class NewTask(NamedTuple):
    """A task at the start of a campaign: described, or set aside with the reason."""

    name: str
    task: Task | None
    set_aside: str | None = None


class CampaignTask(msgspec.Struct, frozen=True):
    """A task of a campaign, as stored."""

    position: int
    name: str
    task: int | None
    """Its id in the workspace; None where the task could not be loaded."""
    set_aside: str | None
    """The reason why no more attempts are made; None while they are."""
    champion: int | None
    """Id of its fastest attempt that passed."""
    described: Task | None
    """None where the task could not be loaded."""


class Totals(msgspec.Struct, frozen=True):
    """Totals over the attempts of a campaign."""

    done: int
    claimed: int
    passed: int
    solved: int
    """Tasks with an attempt that passed."""
    known_usd: float
    unpriced: int
    """Finished attempts of unknown cost."""
    dearest_usd: float | None
    wait_seconds: float
    measure_seconds: float


class Spending(msgspec.Struct, frozen=True):
    """Usage and cost of one model in one role on one task; None where a part is unknown."""

    task: str
    role: str
    model: str
    calls: int
    cached: int
    problems: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


class TaskProgressSummary(msgspec.Struct, frozen=True):
    """Counts over the tasks of a campaign."""

    tasks: int
    set_aside: int
    last_done_at: str | None
    """When the attempt with the highest id was finished; None where it is under way."""


class Effort(msgspec.Struct, frozen=True):
    """Time and cost of one task in a campaign."""

    task: int
    seconds: float
    """Of the judge, with its waiting."""
    cost_usd: float | None
    """None where that of one attempt is unknown."""


class Failure(msgspec.Struct, frozen=True):
    """A reason for which attempts of a task were refused or declined."""

    state: str
    gate: str
    """Empty where there was no candidate to judge."""
    reason: str
    attempts: int
    example: int
    """Id of the latest of them."""


class EventKind(enum.StrEnum):
    BEGUN = "begun"
    """A run of the campaign began."""
    NO_MONEY = "no money"
    """A model call was not made because the cost limit did not cover it."""
    PAUSED = "paused"
    """The generator did not answer; the attempt was proposed again after a pause."""
    NO_GENERATOR = "no generator"
    """The generator could not be used any more; the run ended."""
    NO_FINAL = "no final"
    """A champion could not be measured at the end."""
    ENDED = "ended"
    """A run of the campaign ended; the text says why."""


class Event(msgspec.Struct, frozen=True):
    """An entry in the event log of a campaign."""

    at: str
    kind: EventKind
    text: str


class Best(msgspec.Struct, frozen=True):
    """The fastest champion of a task over all campaigns on a backend."""

    name: str
    attempt: int
    ratio: float
