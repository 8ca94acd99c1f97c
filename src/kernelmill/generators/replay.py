"""Answers with recorded candidates, so that the real loop runs without anybody who writes."""

from pathlib import Path

from kernelmill.backends import get_backend
from kernelmill.candidate import MODEL_FILE, Origin, read_candidate
from kernelmill.errors import GeneratorUnavailable
from kernelmill.generators.base import Declined, Draft, Generator, Proposal
from kernelmill.generators.decisions import Choice

_DECISION = "recording"


class ReplayGenerator(Generator):
    """`replay:FOLDER` reads FOLDER/<task>/ or, for several, FOLDER/<task>/<any name>/; plain
    `replay` reads the examples that come with the backend.

    It answers with a recording that the context does not speak of, drawn by the seed, and
    declines once there is none.
    """

    name = "replay"

    def __init__(self, folder: str = "") -> None:
        self._folder = folder

    def write(self, proposal: Proposal) -> Draft:
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

    def _root(self, backend: str) -> Path:
        return Path(self._folder) if self._folder else get_backend(backend).examples()


def _recordings(folder: Path) -> list[Path]:
    if (folder / MODEL_FILE).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{MODEL_FILE}"))
