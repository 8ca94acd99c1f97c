"""Kernels for regions: found in a workspace, or searched for within a budget."""

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernelmill import api
from kernelmill.backends import get_backend
from kernelmill.campaign import Watcher
from kernelmill.deploy.champions import Champion, find_champions
from kernelmill.deploy.export import write_kernel
from kernelmill.deploy.kernel_spec import describe_kernel
from kernelmill.deploy.region_tasks import RegionTask, program_of
from kernelmill.judge.evidence import processor_name
from kernelmill.records.attempt import Attempt, State
from kernelmill.records.campaign import CampaignTask, Totals
from kernelmill.records.errors import UsageError, WorkspaceError
from kernelmill.shipped.operators import Kernel
from kernelmill.workspace import Workspace

REGIONS = "regions"
"""Folder of a workspace with the regions of models as task files."""
_KERNELS = "kernels"
_NAMESPACE = "kernelmill"
_made: dict[str, Kernel] = {}
"""Operators of this process, which can be defined once only, by name."""
_lock = threading.Lock()

Progress = Callable[[str], None]


class SearchBudget(NamedTuple):
    attempts: int
    """Attempts per kind of region; 0 only looks up."""
    max_minutes: float | None = None


class Lookup(NamedTuple):
    champions: dict[str, Champion]
    """By the names of the regions' tasks."""
    found: int
    """How many of them were in the workspace before."""
    searched: int
    reasons: dict[str, str]
    """Why the other regions have none."""


class _SearchProgress(Watcher):
    """One line per attempt, since a search takes minutes."""

    def __init__(self, progress: Progress, attempts: int) -> None:
        self._progress = progress
        self._attempts = attempts

    def finished(self, attempt: Attempt, champion: bool, totals: Totals) -> None:
        speed = "" if attempt.ratio is None else f", {attempt.ratio:.2f}x alone"
        done = f"attempt {totals.done} of {self._attempts}"
        self._progress(f"{done}: {attempt.task_name}: {attempt.state}{speed}")


def look_up_kernels(
    tasks: Sequence[RegionTask],
    workspace: Path,
    backend: str,
    budget: SearchBudget,
    progress: Progress,
    watcher: Watcher | None = None,
) -> Lookup:
    """Champions for these tasks; those that are missing are searched for."""
    sources = {task.name: task.source for task in tasks}
    known = _look_up(workspace, backend, sources)
    faster = {name for name, champion in known.items() if champion.is_faster}
    open_sources = {name: text for name, text in sources.items() if name not in faster}
    target = get_backend(backend).target
    tried = _tried(workspace, target, open_sources, known, budget.attempts)
    missing = [task for task in tasks if task.name not in faster | tried]
    searched = 0
    if missing and budget.attempts > 0:
        progress(f"searching kernels for {len(missing)} of {len(tasks)} kinds of regions")
        searched = len(missing)
        told = watcher or _SearchProgress(progress, len(missing) * budget.attempts)
        _search(missing, workspace, backend, budget, told)
    champions = known | (_look_up(workspace, backend, open_sources) if searched else {})
    without = {name: text for name, text in sources.items() if name not in champions}
    return Lookup(champions, len(known), searched, _reasons(workspace, without))


def write_tasks(tasks: Sequence[RegionTask], folder: Path) -> list[Path]:
    """The regions as task files, one per kind."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for task in tasks:
            paths.append(folder / f"{task.name}.py")
            paths[-1].write_text(task.source, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from error
    return paths


def make_kernel(champion: Champion, workspace: Path) -> Kernel:
    """The operator of a champion, for the sizes it was measured with.

    A champion that several workspaces hold is one operator. May be called from several threads.
    """
    backend = champion.backend.replace(":", "-")
    digest = _digest(champion)
    name = f"{champion.name.rpartition('/')[2]}_{digest}"
    with _lock:
        if name not in _made:
            folder = (workspace / _KERNELS / backend / name).resolve()
            write_kernel(folder, champion, name, only_measured=True)
            _made[name] = Kernel(folder, _NAMESPACE)
        return _made[name]


def _digest(champion: Champion) -> str:
    """Digest of all that the operator of a champion depends on."""
    parts = (
        champion.candidate.digest.encode(),
        msgspec.json.encode(champion.recipe),
        msgspec.json.encode(describe_kernel(champion, "", only_measured=True)),
        champion.task.source.encode(),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _look_up(workspace: Path, backend: str, sources: Mapping[str, str]) -> dict[str, Champion]:
    try:
        with Workspace(workspace) as opened:
            return find_champions(
                opened,
                get_backend(backend).target,
                lambda entry: _is_among(entry, sources),
                _is_of_this_machine,
            )
    except WorkspaceError:
        return {}


def _tried(
    workspace: Path,
    backend: str,
    sources: Mapping[str, str],
    known: Container[str],
    attempts: int,
) -> set[str]:
    """Tasks on which as many attempts were made in vain, or none can be made.

    A champion that is not among the known ones is of another machine.
    """
    spent: Counter[str] = Counter()
    found: set[str] = set()
    try:
        with Workspace(workspace) as opened:
            for campaign in opened.campaigns():
                if campaign.settings.backend != backend:
                    continue
                for entry in opened.tasks(campaign):
                    foreign = entry.champion is not None and entry.name not in known
                    if foreign or not _is_among(entry, sources):
                        continue
                    if entry.set_aside:
                        found.add(entry.name)
                    elif entry.task is not None:
                        made = opened.attempts(campaign, entry.task)
                        spent[entry.name] += sum(one.state is not State.CLAIMED for one in made)
    except WorkspaceError:
        return set()
    return found | {name for name, count in spent.items() if count >= attempts}


def _is_among(entry: CampaignTask, sources: Mapping[str, str]) -> bool:
    """Whether a task of a campaign is one of these, and was not edited. One that could not be
    loaded has its name only."""
    if entry.name not in sources:
        return False
    described = entry.described
    return described is None or program_of(described.source) == program_of(sources[entry.name])


def _is_of_this_machine(champion: Champion) -> bool:
    evidence = champion.verdict.evidence
    return bool(evidence.device) or evidence.processor == processor_name()


def _search(
    tasks: Sequence[RegionTask],
    workspace: Path,
    backend: str,
    budget: SearchBudget,
    watcher: Watcher,
) -> None:
    workspace.mkdir(parents=True, exist_ok=True)
    with Workspace(workspace, create=True):
        paths = write_tasks(tasks, workspace / REGIONS)
    try:
        api.run(
            paths,
            backend=backend,
            budget=budget.attempts,
            workspace=workspace,
            max_minutes=budget.max_minutes,
            compiled=False,
            watcher=watcher,
        )
    except UsageError as error:
        if "none of the" not in str(error):
            raise


def _reasons(workspace: Path, sources: Mapping[str, str]) -> dict[str, str]:
    """The latest reason why a task has no kernel, by its name."""
    found: dict[str, str] = {}
    try:
        with Workspace(workspace) as opened:
            for campaign in opened.campaigns():
                for entry in opened.tasks(campaign):
                    if not _is_among(entry, sources):
                        continue
                    failures = (
                        [] if entry.task is None else opened.failures(campaign, entry.task, 1)
                    )
                    reason = entry.set_aside or (failures[0].reason if failures else "")
                    found[entry.name] = reason or "no kernel has passed"
    except WorkspaceError:
        pass
    return found
