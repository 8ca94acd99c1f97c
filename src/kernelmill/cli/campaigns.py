"""What `run` and `resume` share: a crew, a watcher, a conclusion."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape

from kernelmill.backends import get_backend
from kernelmill.backends.base import Backend, Device
from kernelmill.campaign import Crew, Ending, Limits, quiet, run_campaign
from kernelmill.campaign.loop import NO_MONEY
from kernelmill.campaign.preflight import check_devices, check_tools
from kernelmill.cli.progress import LiveWatcher, PlainWatcher
from kernelmill.generators import get_generator
from kernelmill.generators.base import Generator
from kernelmill.generators.model.choosing import demand_prices
from kernelmill.generators.money import EarlyPurse
from kernelmill.judge import Judge, Settings
from kernelmill.report import conclusion, spending_table, summarise, task_table, write_page
from kernelmill.strategies import Strategy, get_strategy
from kernelmill.workspace import Campaign, CampaignSettings, Workspace

REPORT = "report.html"
_INTERRUPTED = 130
_LAST_EVENTS = 2
"""Of a run: why it ended, and that it did."""


class Plugins(NamedTuple):
    backend: Backend
    generator: Generator
    strategy: Strategy


def find_plugins(settings: CampaignSettings, spent_usd: float = 0.0) -> Plugins:
    """What the settings name, checked before anything is made."""
    plugins = Plugins(
        get_backend(settings.backend),
        get_generator(settings.generator, settings.models),
        get_strategy(settings.strategy),
    )
    if settings.models is not None:
        demand_prices(settings.models, settings.max_usd)
    left_usd = None if settings.max_usd is None else settings.max_usd - spent_usd
    plugins.generator.fund(EarlyPurse(left_usd))
    check_tools(plugins.backend, plugins.generator)
    check_devices(plugins.backend, settings.devices)
    return plugins


@contextmanager
def open_judges(settings: CampaignSettings, backend: Backend) -> Iterator[tuple[Judge, ...]]:
    """One, or one a device; several share the processors among them."""
    devices = settings.devices or (None,)
    on_device = backend.device is Device.CUDA
    clocks = quiet.Together(quiet.measuring_devices if on_device else quiet.measuring)
    threads = max(1, settings.threads // len(devices))
    processors = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        judges = []
        for place, device in enumerate(devices):
            judging = Settings(
                threads=threads,
                processors=tuple(processors[place * threads : (place + 1) * threads]),
                rounds=settings.rounds,
                device=device,
                allow_unsandboxed=settings.allow_unsandboxed,
            )
            judges.append(stack.enter_context(Judge(backend, judging, clocks.measuring)))
        yield tuple(judges)


def work(
    console: Console, workspace: Workspace, campaign: Campaign, crew: Crew, limits: Limits
) -> None:
    """Run a campaign in front of the user, then conclude."""
    try:
        ending = _watched(console, workspace, campaign, crew, limits)
    except KeyboardInterrupt:
        console.print(f"stopped; to go on: {_resume_command(workspace, campaign)}")
        sys.stdout.flush()
        # At once: threads that still write or build have nothing to store.
        os._exit(_INTERRUPTED)
    conclude(console, workspace, campaign)
    console.print(f"{ending}", highlight=False)
    for event in workspace.events(campaign)[-_LAST_EVENTS:]:
        if event.kind == NO_MONEY:
            console.print(escape(event.text), highlight=False, soft_wrap=True)
    if ending is not Ending.COMPLETE:
        console.print(f"to go on: {_resume_command(workspace, campaign)}", highlight=False)
    if ending is Ending.INTERRUPTED:
        raise typer.Exit(_INTERRUPTED)


def conclude(console: Console, workspace: Workspace, campaign: Campaign) -> None:
    """The table with its evidence, and the page."""
    summary = summarise(workspace, campaign)
    console.print(task_table(summary))
    if summary.spending:
        console.print(spending_table(summary.spending))
    console.print(conclusion(summary), highlight=False, markup=False, soft_wrap=True)
    page = workspace.folder / REPORT
    write_page(summary, page)
    console.print(f"report: {page}; best kernels: {workspace.folder / 'best'}", highlight=False)


def _watched(
    console: Console, workspace: Workspace, campaign: Campaign, crew: Crew, limits: Limits
) -> Ending:
    if not console.is_terminal:
        plain = PlainWatcher(console, campaign, limits)
        return run_campaign(workspace, campaign, crew, limits, plain)
    with Live(console=console, transient=True) as live:
        watcher = LiveWatcher(console, campaign, workspace.tasks(campaign), limits, live)
        return run_campaign(workspace, campaign, crew, limits, watcher)


def _resume_command(workspace: Workspace, campaign: Campaign) -> str:
    return f"kernelmill resume {workspace.folder} --campaign {campaign.id}"
