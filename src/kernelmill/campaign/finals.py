"""What is done with champions: a last measurement against torch.compile, and files to take away."""

from pathlib import Path

from kernelmill.campaign.limits import Limits
from kernelmill.campaign.watcher import Watcher
from kernelmill.errors import TaskError
from kernelmill.judge import Judge
from kernelmill.workspace import Campaign, CampaignTask, VerdictKind, Workspace

BEST = "best"


def measure_champions(
    workspace: Workspace, campaign: Campaign, judge: Judge, limits: Limits, watcher: Watcher
) -> None:
    """Measure each champion that was not, against eager and torch.compile; stops at a limit."""
    for entry in workspace.tasks(campaign):
        if limits.pressing() is not None:
            return
        if entry.champion is not None:
            watcher.working(entry.name, "final measurement")
            measure_champion(workspace, campaign, judge, entry)


def measure_champion(
    workspace: Workspace, campaign: Campaign, judge: Judge, entry: CampaignTask
) -> None:
    """One of them; nothing happens where there is no champion, or it was measured before."""
    if entry.champion is None or entry.described is None:
        return
    candidate = workspace.candidate(workspace.attempt(entry.champion))
    known = workspace.verdict(entry.champion, VerdictKind.FINAL) is not None
    if candidate is None or known:
        return
    try:
        verdict = judge.verify(entry.described, candidate, compiled=True)
    except TaskError as error:
        workspace.note(campaign, "no final", f"{entry.name}: {error}")
        return
    workspace.store_final(entry.champion, verdict)


def write_best(workspace: Workspace, backend: str) -> list[Path]:
    """The fastest kernel of every task over all campaigns, as folders of files."""
    folders = []
    for best in workspace.best(backend):
        candidate = workspace.candidate(workspace.attempt(best.attempt))
        verdict = workspace.verdict(best.attempt)
        if candidate is None or verdict is None:
            continue
        folder = workspace.folder / BEST / best.name
        _clear(folder)
        for name, text in candidate.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "verdict.json").write_bytes(verdict.to_json())
        folders.append(folder)
    return folders


def _clear(folder: Path) -> None:
    """Remove the files of an earlier kernel, but not the folders of tasks below this one."""
    if folder.is_dir():
        for path in folder.iterdir():
            if path.is_file():
                path.unlink()
