"""Champions: the final measurement against torch.compile, and their sources as files."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kernelmill.backends import get_backend
from kernelmill.backends.shipping import write_importable
from kernelmill.campaign.judge_pool import JudgePool
from kernelmill.campaign.limits import RunLimits
from kernelmill.campaign.watcher import Watcher
from kernelmill.judge import Judge
from kernelmill.records.attempt import VerdictKind
from kernelmill.records.campaign import Campaign, CampaignTask, EventKind
from kernelmill.records.candidate import Candidate
from kernelmill.records.errors import TaskError
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.workspace import Workspace

BEST = "best"


class _Final(NamedTuple):
    """A champion without a final measurement."""

    name: str
    task: Task
    attempt: int
    candidate: Candidate


def measure_champions(
    workspace: Workspace, campaign: Campaign, pool: JudgePool, limits: RunLimits, watcher: Watcher
) -> None:
    """Measure each champion once against the baseline and torch.compile; Ctrl-C ends it."""

    def measure(final: _Final) -> Verdict | None:
        with pool.lease(final.task) as judge:
            if limits.interrupted:
                return None
            watcher.working(final.name, "final measurement")
            return judge.verify(final.task, final.candidate, compiled=True)

    finals = [final for entry in workspace.tasks(campaign) if (final := _final(workspace, entry))]
    with ThreadPoolExecutor(len(pool), "kernelmill-finals") as threads:
        measured = {threads.submit(measure, final): final for final in finals}
        for done in as_completed(measured):
            _store(workspace, campaign, measured[done], done.result)


def measure_champion(
    workspace: Workspace, campaign: Campaign, judge: Judge, entry: CampaignTask
) -> None:
    """Measure the champion of one task, if there is one and it was not measured before."""
    final = _final(workspace, entry)
    if final is not None:
        verify = partial(judge.verify, final.task, final.candidate, compiled=True)
        _store(workspace, campaign, final, verify)


def _final(workspace: Workspace, entry: CampaignTask) -> _Final | None:
    if entry.champion is None or entry.described is None:
        return None
    candidate = workspace.candidate(workspace.attempt(entry.champion))
    known = workspace.verdict(entry.champion, VerdictKind.FINAL) is not None
    if candidate is None or known:
        return None
    return _Final(entry.name, entry.described, entry.champion, candidate)


def _store(
    workspace: Workspace,
    campaign: Campaign,
    final: _Final,
    measured: Callable[[], Verdict | None],
) -> None:
    try:
        verdict = measured()
    except TaskError as error:
        workspace.note(campaign, EventKind.NO_FINAL, f"{final.name}: {error}")
        return
    if verdict is not None:
        workspace.store_final(final.attempt, verdict)


def write_best(workspace: Workspace, backend: str) -> list[Path]:
    """Write the fastest kernel of every task, over all campaigns on a backend, as folders that
    can be imported."""
    home, target = workspace.folder / BEST / backend.replace(":", "-"), get_backend(backend)
    folders = []
    for best in workspace.best(backend):
        candidate = workspace.candidate(workspace.attempt(best.attempt))
        verdict = workspace.verdict(best.attempt)
        if candidate is None or verdict is None:
            continue
        folder = home / best.name
        _clear(folder)
        write_importable(folder, candidate, target.ship(candidate))
        (folder / "verdict.json").write_bytes(verdict.to_json())
        folders.append(folder)
    return folders


def _clear(folder: Path) -> None:
    """Remove the files of an earlier kernel, but not the folders of tasks below this one."""
    if folder.is_dir():
        for path in folder.iterdir():
            if path.is_file():
                path.unlink()
