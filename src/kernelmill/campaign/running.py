"""One run of a campaign from start to end, with components that are already open."""

from kernelmill.campaign.components import Components
from kernelmill.campaign.cost_budget import CampaignCostBudget
from kernelmill.campaign.finals import measure_champions, write_best
from kernelmill.campaign.judge_pool import JudgePool
from kernelmill.campaign.limits import Ending, RunLimits, obeying_interrupts
from kernelmill.campaign.loop import CampaignLoop
from kernelmill.campaign.settling import settle_champions
from kernelmill.campaign.watcher import Watcher
from kernelmill.memory import Memory
from kernelmill.memory.guide import seed_guide
from kernelmill.records.campaign import Campaign, EventKind
from kernelmill.workspace import Workspace


def run_campaign(
    workspace: Workspace,
    campaign: Campaign,
    components: Components,
    limits: RunLimits,
    watcher: Watcher,
) -> Ending:
    """Make attempts until the budget is spent or a limit is reached; may be called again later.

    Ctrl-C ends it in order where it runs in the main thread; only there can signals be handled.
    """
    backend = components.backend
    with workspace.writing() as transaction:
        seed_guide(Memory(transaction), campaign.settings.backend, backend.guide())
    workspace.note(campaign, EventKind.BEGUN, "")
    components.generator.fund(CampaignCostBudget(workspace.expenses(campaign), limits.max_usd))
    watcher.begun(workspace.folder, campaign, workspace.tasks(campaign), limits)
    limits.on_interrupt = watcher.interrupted
    with obeying_interrupts(limits):
        try:
            ending = _attempt_and_measure(workspace, campaign, components, limits, watcher)
        except KeyboardInterrupt:
            watcher.aborted()
            raise
        write_best(workspace, campaign.settings.backend)
    workspace.note(campaign, EventKind.ENDED, ending)
    return ending


def _attempt_and_measure(
    workspace: Workspace,
    campaign: Campaign,
    components: Components,
    limits: RunLimits,
    watcher: Watcher,
) -> Ending:
    pool = JudgePool(components.judges)
    ending = CampaignLoop(workspace, campaign, components, pool, limits, watcher).run()
    if components.backend.deterministic_timing:
        return ending
    if ending is Ending.COMPLETE:
        settle_champions(workspace, campaign, pool, limits, watcher)
    if campaign.settings.compiled and ending is not Ending.INTERRUPTED:
        measure_champions(workspace, campaign, pool, limits, watcher)
    return ending
