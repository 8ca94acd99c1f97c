"""One run of a campaign from end to end, on a judge that is ready."""

from typing import NamedTuple

from kernelmill.campaign.finals import measure_champions, write_best
from kernelmill.campaign.limits import Ending, Limits, obeying_interrupts
from kernelmill.campaign.loop import Loop
from kernelmill.campaign.panel import Panel
from kernelmill.campaign.purse import CampaignPurse
from kernelmill.campaign.watcher import Watcher
from kernelmill.generators.base import Generator
from kernelmill.judge import Judge
from kernelmill.memory import Memory
from kernelmill.memory.guide import seed
from kernelmill.strategies import Strategy
from kernelmill.workspace import Campaign, Workspace


class Crew(NamedTuple):
    """Who works on a campaign."""

    judge: Judge
    generator: Generator
    strategy: Strategy
    beside: tuple[Judge, ...] = ()
    """Further judges, each on a device of its own."""


def run_campaign(
    workspace: Workspace, campaign: Campaign, crew: Crew, limits: Limits, watcher: Watcher
) -> Ending:
    """Work until the budget is spent or a limit is reached; safe to end and begin again.

    Must be called from the main thread: it answers to Ctrl-C.
    """
    backend = crew.judge.backend
    with workspace.writing() as transaction:
        seed(Memory(transaction), campaign.settings.backend, backend.guide())
    workspace.note(campaign, "begun", "")
    crew.generator.fund(CampaignPurse(workspace.expenses(campaign), limits.max_usd))
    with obeying_interrupts(limits):
        panel = Panel((crew.judge, *crew.beside))
        loop = Loop(workspace, campaign, panel, crew.generator, crew.strategy, limits, watcher)
        ending = loop.run()
        wanted = campaign.settings.compiled and not backend.exact
        if wanted and ending is not Ending.INTERRUPTED:
            measure_champions(workspace, campaign, panel, limits, watcher)
        write_best(workspace, campaign.settings.backend)
    workspace.note(campaign, "ended", ending)
    return ending
