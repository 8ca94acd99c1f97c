"""The closing race of a campaign: the fastest kernels of a task are measured until one has won.

Only strategies that keep an archive have several kernels whose rank is not sure.
"""

from functools import partial

from kernelmill.archive import Archive, Elite
from kernelmill.archive.selection import MOST_MEASUREMENTS, to_remeasure
from kernelmill.campaign.judge_pool import JudgePool
from kernelmill.campaign.limits import RunLimits
from kernelmill.campaign.watcher import Watcher
from kernelmill.records.campaign import Campaign, CampaignTask, EventKind
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.workspace import Transaction, Workspace

ROUNDS, AT_ONCE = 20, 3
"""Rounds of the race, and kernels that are measured in each: at most."""


def settle_champions(
    workspace: Workspace, campaign: Campaign, pool: JudgePool, limits: RunLimits, watcher: Watcher
) -> None:
    """Measure contenders until the champion of every task is sure; Ctrl-C ends it."""
    for entry in workspace.tasks(campaign):
        if entry.task is None or entry.described is None or entry.champion is None:
            continue
        try:
            _settle(workspace, campaign, pool, limits, watcher, entry)
        except TaskError as error:
            workspace.note(campaign, EventKind.NO_FINAL, f"{entry.name}: {error}")


def _settle(
    workspace: Workspace,
    campaign: Campaign,
    pool: JudgePool,
    limits: RunLimits,
    watcher: Watcher,
    entry: CampaignTask,
) -> None:
    assert entry.task is not None and entry.described is not None
    archive = Archive(workspace.database, campaign.id, entry.task)
    for _ in range(ROUNDS):
        race = to_remeasure(archive.contenders(), (), AT_ONCE, MOST_MEASUREMENTS)
        for elite in race:
            if limits.interrupted:
                return
            watcher.working(entry.name, "measuring again")
            _remeasure(workspace, pool, entry.described, elite)
        if not race:
            return


def _remeasure(workspace: Workspace, pool: JudgePool, task: Task, elite: Elite) -> None:
    attempt = workspace.attempt(elite.attempt)
    candidate = workspace.candidate(attempt)
    if candidate is None:
        return
    with pool.lease(task) as judge:
        verdict = judge.verify(task, candidate, brief=True)
    observe = partial(_observe, attempt.campaign, attempt.task, attempt.id, attempt.number)
    workspace.store_remeasured(attempt, verdict, observe)


def _observe(campaign: int, task: int, attempt: int, number: int, transaction: Transaction) -> None:
    Archive(transaction, campaign, task).remeasured(attempt, number)
