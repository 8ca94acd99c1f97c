"""`kernelmill run`: a campaign over one or more suites."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from kernelmill.backends import get_backend
from kernelmill.campaign import Crew, Limits
from kernelmill.campaign.preflight import demand_some, describe_tasks, find_tasks
from kernelmill.cli.campaigns import find_plugins, open_judge, work
from kernelmill.cli.options import (
    DEFAULT_WORKSPACE,
    AllowUnsandboxed,
    Backend,
    Effort,
    Endpoint,
    MaxMinutes,
    ModelFile,
    Models,
    Scale,
    Threads,
)
from kernelmill.cli.options import Workspace as WorkspaceOption
from kernelmill.cli.terminal import wide_console
from kernelmill.generators.model.choosing import Wish, choose_models
from kernelmill.judge import Judge, Settings
from kernelmill.tasks import TaskFile
from kernelmill.workspace import CampaignSettings, NewTask, Workspace


def run(
    suites: Annotated[list[str], typer.Argument(help="Suites, task files or folders.")],
    backend: Backend = "cpp",
    generator: Annotated[
        str, typer.Option(help="Who writes: a generator's name, or name:argument.")
    ] = "composer",
    strategy: Annotated[
        str, typer.Option(help="Who decides: a strategy, or name:settings.")
    ] = "value",
    model: Models = None,
    endpoint: Endpoint = "",
    effort: Effort = "",
    models: ModelFile = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Let a model look for tricks no rule knows.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask anew what was answered before.")
    ] = False,
    budget: Annotated[int, typer.Option(min=1, help="Attempts a task.")] = 30,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")] = 0,
    max_minutes: MaxMinutes = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0.0, help="Begin nothing that would cost more in all.")
    ] = None,
    threads: Threads = None,
    scale: Scale = None,
    rounds: Annotated[int, typer.Option(min=5, help="Timed rounds.")] = 24,
    compiled: Annotated[
        bool,
        typer.Option("--compile/--no-compile", help="In the end, measure torch.compile too."),
    ] = True,
    allow_unsandboxed: AllowUnsandboxed = False,
) -> None:
    """Search for fast kernels: every task gets its attempts, the best are kept with evidence.

    Ctrl-C finishes what is under way and reports; `kernelmill resume` goes on.
    """
    settings = CampaignSettings(
        suites=tuple(suites),
        backend=backend,
        generator=generator,
        strategy=strategy,
        budget=budget,
        seed=seed,
        scale=scale or get_backend(backend).scale,
        threads=threads or Settings().threads,
        compiled=compiled,
        allow_unsandboxed=allow_unsandboxed,
        max_usd=max_usd,
        rounds=rounds,
        models=choose_models(
            Wish(tuple(model or ()), endpoint, effort, models, audit, cached=not fresh)
        ),
    )
    plugins = find_plugins(settings)
    entries = find_tasks(settings.suites)
    console = wide_console()
    with (
        Workspace(workspace, create=True) as opened,
        open_judge(settings, plugins.backend) as judge,
    ):
        campaign = opened.create_campaign(
            settings, _describe(console, judge, entries, settings.scale)
        )
        console.print(f"campaign {campaign.id} in {workspace}", highlight=False)
        crew = Crew(judge, plugins.generator, plugins.strategy)
        work(console, opened, campaign, crew, Limits(max_usd, max_minutes))


def _describe(
    console: Console, judge: Judge, entries: list[TaskFile | NewTask], scale: str
) -> list[NewTask]:
    tasks = []
    with console.status(f"loading {len(entries)} tasks") as status:
        for task in describe_tasks(judge, entries, scale):
            tasks.append(task)
            status.update(f"loading tasks: {len(tasks)} of {len(entries)}")
    demand_some(tasks)
    for task in tasks:
        if task.set_aside is not None:
            console.print(f"[red]skipped[/red] {escape(task.set_aside)}", soft_wrap=True)
    return tasks
