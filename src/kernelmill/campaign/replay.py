"""The generator `replay`: recorded candidates, from a folder or from an earlier campaign.

It is part of the campaign layer because it reads workspaces, which generators must not know.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelmill.backends import get_backend
from kernelmill.backends.reading import is_candidate, read_candidate
from kernelmill.generators.base import Declined, Generator
from kernelmill.records.attempt import Attempt
from kernelmill.records.campaign import Campaign
from kernelmill.records.candidate import Origin
from kernelmill.records.decisions import Choice
from kernelmill.records.errors import CandidateError, GeneratorUnavailable, WorkspaceError
from kernelmill.records.proposal import Draft, Proposal
from kernelmill.records.target import backend_name
from kernelmill.workspace import Workspace
from kernelmill.workspace.database import FILE

_DECISION = "recording"
"""The decision that names the recording a draft was read from."""


class ReplayGenerator(Generator):
    """Answers with recorded candidates, so that a campaign runs without anybody who writes.

    `replay` takes the examples that come with the backend. `replay:FOLDER` takes FOLDER/TASK/, or
    FOLDER/TASK/NAME/ for several candidates per task. The seed picks one that neither the context
    nor the parent names; once there is none left, the generator declines.

    `replay:WORKSPACE` repeats recorded attempts by number, to judge them now. An attempt comes from
    the latest campaign on the same backend that has finished it, whatever chip that was for. What
    was declined then is declined again.
    """

    name = "replay"

    def __init__(self, folder: str = "") -> None:
        self._folder = Path(folder) if folder else None
        self._is_workspace = self._folder is not None and (self._folder / FILE).is_file()
        # In a workspace the next attempt may be recorded where this one is not.
        self.declines_for_good = not self._is_workspace

    def check(self, backend: str) -> None:
        root = self._root(backend)
        if not root.is_dir():
            raise GeneratorUnavailable(f"replay: there is no folder {root}")
        if self._is_workspace:
            with _opened(root) as workspace:
                if not _campaigns(workspace, backend):
                    raise GeneratorUnavailable(f"replay: {root} has no campaign for {backend}")

    def write(self, proposal: Proposal) -> Draft:
        root = self._root(proposal.backend)
        if self._is_workspace:
            with _opened(root) as workspace:
                return _recorded_draft(workspace, proposal)
        recording = _choose_recording(root / proposal.task.id, proposal)
        origin = Origin.SHIPPED if self._folder is None else Origin.FILE
        try:
            return Draft(read_candidate(recording, origin), {_DECISION: recording.name})
        except CandidateError as error:
            raise Declined(f"a recording of {proposal.task.id} cannot be read: {error}") from error

    def _root(self, backend: str) -> Path:
        return get_backend(backend).examples() if self._folder is None else self._folder


def _choose_recording(folder: Path, proposal: Proposal) -> Path:
    """Raises Declined where every recording was shown already."""
    entry = get_backend(proposal.backend).entry
    folders = [folder] if is_candidate(folder, entry) else sorted(folder.glob("*/"))
    recordings = [path for path in folders if is_candidate(path, entry)]
    if not recordings:
        raise Declined(f"there is no recording of {proposal.task.id} with a file {entry}")
    shown: set[Choice | None] = {hint.decisions.get(_DECISION) for hint in proposal.context}
    if proposal.parent is not None:
        shown.add(proposal.parent.decisions.get(_DECISION))
    left = [path for path in recordings if path.name not in shown]
    if not left:
        raise Declined(f"all recordings of {proposal.task.id} were shown: {len(recordings)}")
    return left[proposal.seed % len(left)]


@contextmanager
def _opened(folder: Path) -> Iterator[Workspace]:
    """Raises GeneratorUnavailable where it cannot be read, also while it is open."""
    try:
        with Workspace(folder) as workspace:
            yield workspace
    except WorkspaceError as error:
        raise GeneratorUnavailable(f"replay: {error}") from error


def _recorded_draft(workspace: Workspace, proposal: Proposal) -> Draft:
    """The draft of the recorded attempt with the proposal's number. Raises Declined."""
    number, task = proposal.number, proposal.task.id
    attempt = _recorded_attempt(workspace, proposal)
    if attempt is None:
        raise Declined(f"{workspace.folder} has no attempt {number} of {task}")
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


def _recorded_attempt(workspace: Workspace, proposal: Proposal) -> Attempt | None:
    for campaign in reversed(_campaigns(workspace, proposal.backend)):
        for entry in workspace.tasks(campaign):
            if entry.name != proposal.task.id or entry.task is None:
                continue
            for attempt in workspace.attempts(campaign, entry.task):
                if attempt.number == proposal.number:
                    return attempt
    return None


def _campaigns(workspace: Workspace, backend: str) -> list[Campaign]:
    """Those on the same backend, whatever the chip; the latest is the last."""
    return [
        campaign
        for campaign in workspace.campaigns()
        if backend_name(campaign.settings.backend) == backend_name(backend)
    ]
