"""Campaigns and attempts as records: what `status` and `show` print, and the dashboard lists."""

import datetime

import msgspec

from kernelmill.records.attempt import Attempt, AttemptPlan, State, VerdictKind
from kernelmill.records.campaign import Campaign, Event, Totals
from kernelmill.records.decisions import Decisions
from kernelmill.records.model_calls import ModelCall, SaidText
from kernelmill.records.verdict import Verdict
from kernelmill.sweeps.log import combination_of
from kernelmill.workspace import Workspace


class CampaignLine(msgspec.Struct, frozen=True):
    """One campaign in a list of campaigns."""

    id: int
    made_at: str
    suites: tuple[str, ...]
    backend: str
    generator: str
    strategy: str
    seed: int
    tasks: int
    budget: int
    """Attempts per task."""
    totals: Totals
    set_aside: int
    """Tasks that get no further attempts."""
    last_event: Event | None
    last_change: str
    """When something was last stored."""


class Ancestor(msgspec.Struct, frozen=True):
    id: int
    state: State
    ratio: float | None


class AttemptDetail(msgspec.Struct, frozen=True):
    """Everything that is stored of one attempt."""

    attempt: Attempt
    lineage: tuple[Ancestor, ...]
    """From the first ancestor to the attempt itself."""
    plan: AttemptPlan | None
    calls: tuple[ModelCall, ...]
    conversations: tuple[tuple[SaidText, ...], ...]
    """Prompt and answer of each call; empty where they were pruned."""
    verdicts: dict[str, Verdict]
    """By kind: `first`, `confirming`, `final`."""
    files: dict[str, str]
    combination: Decisions = {}
    """The choices that it measured, where it was a trial of a sweep."""


def campaign_lines(workspace: Workspace) -> list[CampaignLine]:
    return [campaign_line(workspace, campaign) for campaign in workspace.campaigns()]


def campaign_line(workspace: Workspace, campaign: Campaign) -> CampaignLine:
    settings, events = campaign.settings, workspace.events(campaign)
    progress = workspace.task_progress(campaign)
    last = events[-1] if events else None
    changes = [campaign.made_at, *([last.at] if last else []), progress.last_done_at or ""]
    return CampaignLine(
        campaign.id,
        campaign.made_at,
        settings.suites,
        settings.backend,
        settings.generator,
        settings.strategy,
        settings.seed,
        progress.tasks,
        settings.budget,
        workspace.totals(campaign),
        progress.set_aside,
        last,
        max(changes),
    )


def attempt_detail(workspace: Workspace, attempt: Attempt) -> AttemptDetail:
    candidate = workspace.candidate(attempt)
    verdicts = {kind: workspace.verdict(attempt.id, kind) for kind in VerdictKind}
    return AttemptDetail(
        attempt,
        tuple(Ancestor(one.id, one.state, one.ratio) for one in workspace.lineage(attempt)),
        workspace.planned(attempt.id),
        tuple(workspace.calls(attempt.id)),
        tuple(workspace.conversation(attempt.id)),
        {str(kind): verdict for kind, verdict in verdicts.items() if verdict is not None},
        {} if candidate is None else candidate.files,
        combination_of(workspace.database, attempt.id),
    )


def age(moment: str, now: datetime.datetime | None = None) -> str:
    """How long ago something happened, in one unit: `3 min`, `5 h`, `12 d`."""
    now = now or datetime.datetime.now(datetime.UTC)
    try:
        seconds = (now - datetime.datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return ""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
