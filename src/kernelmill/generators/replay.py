"""Answers with recorded candidates, so that the real loop runs without anybody who writes."""

from collections.abc import Iterator
from pathlib import Path

from kernelmill.backends import get_backend
from kernelmill.candidate import Origin, is_candidate, read_candidate
from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.base import Declined, Draft, Generator, Proposal
from kernelmill.generators.decisions import Choice
from kernelmill.workspace import Attempt, Workspace
from kernelmill.workspace.database import FILE

_DECISION = "recording"


class ReplayGenerator(Generator):
    """`replay:FOLDER` reads FOLDER/<task>/ or, for several, FOLDER/<task>/<any name>/; plain
    `replay` reads the examples that come with the backend.

    It answers with a recording that the context does not speak of, drawn by the seed, and
    declines once there is none. Where the folder is a workspace, the latest campaign that has the
    attempt is played again, attempt by attempt: what was written then is judged now.
    """

    name = "replay"

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    def write(self, proposal: Proposal) -> Draft:
        if self._is_workspace:
            with Workspace(Path(self._folder)) as workspace:
                return _played(workspace, proposal)
        recordings = _recordings(self._root(proposal.backend) / proposal.task.id)
        if not recordings:
            raise Declined(f"there is no recording for {proposal.task.id}")
        known: set[Choice | None] = {hint.decisions.get(_DECISION) for hint in proposal.context}
        if proposal.parent is not None:
            known.add(proposal.parent.decisions.get(_DECISION))
        left = [path for path in recordings if path.name not in known]
        if not left:
            raise Declined(f"all recordings of {proposal.task.id} were shown: {len(recordings)}")
        path = left[proposal.seed % len(left)]
        origin = Origin.FILE if self._folder else Origin.SHIPPED
        return Draft(read_candidate(path, origin), {_DECISION: path.name})

    def check(self, backend: str) -> None:
        root = self._root(backend)
        if not root.is_dir():
            raise GeneratorUnavailable(f"replay: there is no folder {root}")

    @property
    def _is_workspace(self) -> bool:
        return bool(self._folder) and (Path(self._folder) / FILE).is_file()

    def _root(self, backend: str) -> Path:
        return Path(self._folder) if self._folder else get_backend(backend).examples()


def _recordings(folder: Path) -> list[Path]:
    if is_candidate(folder):
        return [folder]
    return sorted(path for path in folder.glob("*/") if is_candidate(path))


def _played(workspace: Workspace, proposal: Proposal) -> Draft:
    """What came of this attempt the last time."""
    number, task = proposal.number, proposal.task.id
    for attempt in _recorded(workspace, proposal):
        candidate = workspace.candidate(attempt)
        if candidate is None:
            raise Declined(f"attempt {number} of {task} was declined then: {attempt.reason}")
        planned = workspace.planned(attempt.id)
        return Draft(
            candidate,
            attempt.decisions,
            attempt.prediction,
            None if planned is None else planned.plan,
            None if planned is None else planned.diagnosis,
        )
    raise Declined(f"{workspace.folder} holds no attempt {number} of {task}")


def _recorded(workspace: Workspace, proposal: Proposal) -> Iterator[Attempt]:
    """The attempts of this number on this task, the latest first."""
    for campaign in reversed(workspace.campaigns()):
        for entry in workspace.tasks(campaign):
            if entry.name != proposal.task.id or entry.task is None:
                continue
            for attempt in workspace.attempts(campaign, entry.task):
                if attempt.number == proposal.number:
                    yield attempt
