"""`kernelmill prompt`: exactly what a model would be sent."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend as BackendContract
from kernelmill.campaign.history import StoredHistory, attempt_seed
from kernelmill.cli.options import DEFAULT_WORKSPACE, Backend, Campaign, Scale
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.errors import UsageError
from kernelmill.generators.base import Declined, Proposal, Stage
from kernelmill.generators.model.prompting import opening_role, prompt_for
from kernelmill.generators.model.settings import PROMPT_TOKENS
from kernelmill.judge import Judge
from kernelmill.memory import Memory
from kernelmill.memory.guide import seed as seed_guide
from kernelmill.strategies import get_strategy
from kernelmill.tasks import load_suite
from kernelmill.tasks.task import Task
from kernelmill.workspace import Campaign as CampaignRecord
from kernelmill.workspace import CampaignSettings, NewTask, Workspace
from kernelmill.workspace.database import FILE


class _Place(NamedTuple):
    """A campaign that has the task."""

    workspace: Workspace
    campaign: CampaignRecord
    task: int


def prompt(
    task: Annotated[str, typer.Argument(help="A task: suite/name, or a file.")],
    stage: Annotated[
        Stage | None, typer.Option(help="From nothing, or from the best; what is next by default.")
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="Who decides what is shown; as in the campaign by default.")
    ] = "",
    backend: Backend = "cpp",
    scale: Scale = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    campaign: Campaign = None,
    prompt_tokens: Annotated[int, typer.Option(min=1, help="What it may take.")] = PROMPT_TOKENS,
) -> None:
    """Print what a model would be sent next for a task; nothing is sent.

    What was tried and learned in the workspace is shown as a campaign would show it. Where a plan
    or a diagnosis is asked for first, that question is printed.
    """
    target = get_backend(backend)
    described = _describe(task, target, scale)
    with _place(workspace, campaign, described, target) as place:
        proposal = _proposal(place, described, stage, strategy)
        role = opening_role(proposal)
        try:
            made = prompt_for(role, proposal, prompt_tokens)
        except Declined as declined:
            raise UsageError(str(declined)) from declined
    sys.stdout.write(f"=== system\n{made.system}\n=== user\n{made.user}")
    Console(stderr=True).print(
        f"for the {role}: about {made.tokens} tokens; left out: {len(made.left_out)}",
        highlight=False,
    )


def _describe(name: str, target: BackendContract, scale: str | None) -> Task:
    files = load_suite(name)
    if len(files) != 1:
        raise UsageError(f"{name} is {len(files)} tasks: name one of them")
    with Judge(target) as judge:
        return judge.describe(files[0], scale)


@contextmanager
def _place(
    folder: Path, number: int | None, task: Task, target: BackendContract
) -> Iterator[_Place]:
    """The campaign of a workspace, where it has the task; else a new one that nobody keeps."""
    if (folder / FILE).is_file():
        with Workspace(folder) as opened:
            for place in _places(opened, task):
                if number in (None, place.campaign.id):
                    yield place
                    return
    if number is not None:
        raise UsageError(f"campaign {number} of {folder} does not have {task.id}")
    with tempfile.TemporaryDirectory() as empty, Workspace(Path(empty), create=True) as opened:
        yield _new_place(opened, task, target)


def _places(workspace: Workspace, task: Task) -> Iterator[_Place]:
    """The latest first."""
    for campaign in reversed(workspace.campaigns()):
        for entry in workspace.tasks(campaign):
            known = entry.described
            if entry.task is not None and known is not None and known.digest == task.digest:
                yield _Place(workspace, campaign, entry.task)


def _new_place(workspace: Workspace, task: Task, target: BackendContract) -> _Place:
    """As a campaign begins: the memory knows the guide, and nothing else."""
    with workspace.writing() as transaction:
        seed_guide(Memory(transaction), target.name, target.guide())
    settings = CampaignSettings(
        suites=(task.id,),
        backend=target.name,
        generator="model",
        strategy="value",
        budget=1,
        seed=0,
        scale=task.scale,
        threads=1,
        compiled=False,
    )
    return _Place(workspace, workspace.create_campaign(settings, [NewTask(task.id, task)]), 1)


def _proposal(place: _Place, task: Task, stage: Stage | None, strategy: str) -> Proposal:
    attempts = place.workspace.attempts(place.campaign, place.task)
    seed = attempt_seed(place.campaign, task.id, len(attempts) + 1)
    history = StoredHistory(place.workspace, place.campaign, place.task, seed)
    if stage is Stage.DRAFT:
        history.attempts = ()
    if stage is Stage.REFINE and history.best is None:
        raise UsageError(f"nothing of {task.id} has passed yet: there is nothing to refine")
    chosen = get_strategy(strategy or place.campaign.settings.strategy)
    return chosen.propose(task, history)
