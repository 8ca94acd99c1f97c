"""The next prompt for a task, exactly as a campaign would send it to a language model."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend
from kernelmill.campaign.history import StoredHistory
from kernelmill.campaign.preflight import find_task
from kernelmill.generators.base import Declined
from kernelmill.generators.model.prompting import Prompt, opening_role, prompt_for
from kernelmill.judge import Judge
from kernelmill.memory import Memory
from kernelmill.memory.guide import seed_guide as seed_guide
from kernelmill.records.campaign import Campaign, CampaignSettings, NewTask
from kernelmill.records.errors import UsageError
from kernelmill.records.model_settings import PROMPT_TOKENS, ModelRole
from kernelmill.records.proposal import Proposal, Stage
from kernelmill.records.task import Task
from kernelmill.strategies import get_strategy
from kernelmill.strategies.sweeping import Sweeping
from kernelmill.workspace import Workspace
from kernelmill.workspace.database import FILE, copy_database


class NextPrompt(NamedTuple):
    role: ModelRole
    """The role that is asked first: a planner or a diagnoser comes before a writer."""
    prompt: Prompt


class _CampaignWithTask(NamedTuple):
    workspace: Workspace
    campaign: Campaign
    task: int
    """The number of the task in the workspace."""


def next_prompt(
    task: str,
    workspace: Path,
    *,
    backend: str = "cpp",
    campaign: int | None = None,
    stage: Stage | None = None,
    strategy: str = "",
    scale: str | None = None,
    numerics: str | None = None,
    prompt_tokens: int = PROMPT_TOKENS,
) -> NextPrompt:
    """The prompt of the next attempt. Raises UsageError where it does not fit `prompt_tokens`.

    History and memory come from the latest campaign of the workspace that has the task, or from
    `campaign`; where the workspace has none, the prompt is that of a first attempt, with what other
    tasks have left in the memory.
    """
    target = get_backend(backend)
    with Judge(target) as judge:
        described = judge.describe(find_task(task), scale, numerics)
    with _campaign_with(described, target, workspace, campaign) as found:
        proposal = _next_proposal(found, described, stage, strategy)
    role = opening_role(proposal)
    try:
        return NextPrompt(role, prompt_for(role, proposal, prompt_tokens))
    except Declined as declined:
        raise UsageError(str(declined)) from declined


@contextmanager
def _campaign_with(
    task: Task, target: Backend, folder: Path, number: int | None
) -> Iterator[_CampaignWithTask]:
    """The campaign of a workspace that has the task; else a new one, in a copy of the workspace.

    Either way the memory is that of the workspace, and the workspace does not change.
    """
    if (folder / FILE).is_file():
        with Workspace(folder) as workspace:
            for found in _campaigns_with(task, workspace):
                if number in (None, found.campaign.id):
                    yield found
                    return
    if number is not None:
        raise UsageError(f"campaign {number} of {folder} does not have {task.id}")
    with tempfile.TemporaryDirectory() as copy:
        if (folder / FILE).is_file():
            copy_database(folder, Path(copy))
        with Workspace(Path(copy), create=True) as workspace:
            yield _new_campaign(task, target, workspace)


def _campaigns_with(task: Task, workspace: Workspace) -> Iterator[_CampaignWithTask]:
    """The latest first."""
    for campaign in reversed(workspace.campaigns()):
        for entry in workspace.tasks(campaign):
            known = entry.described
            if entry.task is not None and known is not None and known.digest == task.digest:
                yield _CampaignWithTask(workspace, campaign, entry.task)


def _new_campaign(task: Task, target: Backend, workspace: Workspace) -> _CampaignWithTask:
    """A campaign at its beginning: the backend's guide joins the memory."""
    with workspace.writing() as transaction:
        seed_guide(Memory(transaction), target.target, target.guide())
    settings = CampaignSettings(
        suites=(task.id,),
        backend=target.target,
        generator="model",
        strategy="value",
        budget=1,
        seed=0,
        scale=task.scale,
        numerics=task.numerics,
        threads=1,
        compiled=False,
    )
    campaign = workspace.create_campaign(settings, [NewTask(task.id, task)])
    (entry,) = workspace.tasks(campaign)
    assert entry.task is not None
    return _CampaignWithTask(workspace, campaign, entry.task)


def _next_proposal(
    found: _CampaignWithTask, task: Task, stage: Stage | None, strategy: str
) -> Proposal:
    attempts = found.workspace.attempts(found.campaign, found.task)
    number = len(attempts) + 1
    history = StoredHistory(found.workspace, found.campaign, found.task, task.id, number)
    if stage is Stage.DRAFT:
        history.attempts = history.earlier = ()
    solved = history.best is not None or any(one.ratio is not None for one in history.earlier)
    if stage is Stage.REFINE and not solved:
        raise UsageError(f"no attempt on {task.id} has passed yet: there is nothing to refine")
    settings = found.campaign.settings
    chosen = get_strategy(strategy or settings.strategy)
    return Sweeping(chosen, settings.sweep).propose(task, history)
