"""Champions of a workspace, with everything that a user of their kernels may ask for."""

from collections.abc import Callable

import msgspec

from kernelmill.backends import get_backend
from kernelmill.backends.shipping import BuildRecipe
from kernelmill.records.attempt import VerdictKind
from kernelmill.records.campaign import Campaign, CampaignTask
from kernelmill.records.candidate import Candidate
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.workspace import Workspace


class LineageStep(msgspec.Struct, frozen=True):
    """One attempt on the way to a champion."""

    attempt: int
    stage: str
    ratio: float | None
    decisions: dict[str, object]


class Champion(msgspec.Struct, frozen=True):
    """A kernel that passed, as it leaves the workspace."""

    name: str
    """The task's name."""
    task: Task
    backend: str
    generator: str
    candidate: Candidate
    verdict: Verdict
    """The last one: final, else confirming, else first."""
    recipe: BuildRecipe
    lineage: tuple[LineageStep, ...]

    @property
    def is_faster(self) -> bool:
        latency = self.verdict.latency
        return latency is not None and latency.over_baseline.verdict == "faster"

    @property
    def ratio(self) -> float:
        latency = self.verdict.latency
        return 0.0 if latency is None else latency.over_baseline.ratio


class LeftOut(msgspec.Struct, frozen=True):
    """A task without a kernel that can be used."""

    name: str
    reason: str


def champions_of(workspace: Workspace, campaign: Campaign) -> list[Champion | LeftOut]:
    """The champion of every task of a campaign, or why there is none to use."""
    return [_champion(workspace, campaign, entry) for entry in workspace.tasks(campaign)]


def find_champions(
    workspace: Workspace,
    backend: str,
    is_wanted: Callable[[CampaignTask], bool],
    is_usable: Callable[[Champion], bool],
) -> dict[str, Champion]:
    """The fastest usable champion of each wanted task, over all campaigns on a backend, by the
    tasks' names."""
    found: dict[str, Champion] = {}
    for campaign in workspace.campaigns():
        if campaign.settings.backend != backend:
            continue
        for entry in workspace.tasks(campaign):
            if entry.champion is None or not is_wanted(entry):
                continue
            champion = _champion(workspace, campaign, entry)
            if isinstance(champion, LeftOut) or not is_usable(champion):
                continue
            if entry.name not in found or champion.ratio > found[entry.name].ratio:
                found[entry.name] = champion
    return found


def _champion(workspace: Workspace, campaign: Campaign, entry: CampaignTask) -> Champion | LeftOut:
    if entry.champion is None or entry.described is None:
        return LeftOut(entry.name, entry.set_aside or "no attempt has passed")
    attempt = workspace.attempt(entry.champion)
    candidate = workspace.candidate(attempt)
    kinds = (VerdictKind.FINAL, VerdictKind.CONFIRMING, VerdictKind.FIRST)
    verdicts = [workspace.verdict(attempt.id, kind) for kind in kinds]
    verdict = next((one for one in verdicts if one is not None and one.passed), None)
    if candidate is None or verdict is None:
        return LeftOut(entry.name, "its source or verdict is not in the workspace")
    backend = campaign.settings.backend
    recipe = get_backend(backend).ship(candidate)
    if recipe is None:
        return LeftOut(entry.name, f"kernels of backend {backend} run in a simulator only")
    lineage = tuple(
        LineageStep(one.id, one.stage, one.ratio, dict(one.decisions))
        for one in workspace.lineage(attempt)
    )
    return Champion(
        entry.name, entry.described, backend, campaign.settings.generator, candidate, verdict,
        recipe, lineage,
    )  # fmt: skip
