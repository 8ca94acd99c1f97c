"""Refusals that recur in a workspace, as proposals for the guides of backends."""

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from kernelmill.backends import backend_names, get_backend
from kernelmill.records.attempt import Attempt, State, VerdictKind
from kernelmill.records.verdict import Feedback, Gate
from kernelmill.workspace import Workspace

_NUMBER = re.compile(r"\d[\d,.]*")
_WORD = re.compile(r"[A-Za-z_][\w.:-]{5,}")
_MAX_TEXT = 160
_GATES = tuple(Gate)
_KNOWN_SHARE = 0.6
"""Share of the long words of a refusal that a guide mentions if it knows the refusal."""


class Refusal(NamedTuple):
    """One kind of refusal, summed over all campaigns on a backend."""

    backend: str
    gate: str
    text: str
    """Kind and message, with every number as N."""
    seen: int
    tasks: int
    """Number of different tasks."""
    cured: int
    """How many of the attempts that refined such a candidate got past its gate."""
    is_known: bool
    """Whether the backend's guide mentions it."""


class _Group:
    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.seen = 0
        self.cured = 0


def harvest(folder: Path, least: int = 1) -> list[Refusal]:
    """Refusals seen at least so often, the most frequent first. Raises WorkspaceError."""
    with Workspace(folder) as workspace:
        groups = _group(workspace)
    guides = {backend: _guide(backend) for backend, _, _ in groups}
    found = [
        Refusal(
            backend, gate, text, group.seen, len(group.tasks), group.cured,
            _is_known(text, guides[backend]),
        )
        for (backend, gate, text), group in groups.items()
        if group.seen >= least
    ]  # fmt: skip
    return sorted(found, key=lambda refusal: (-refusal.seen, refusal))


def _group(workspace: Workspace) -> dict[tuple[str, str, str], _Group]:
    groups: dict[tuple[str, str, str], _Group] = defaultdict(_Group)
    for campaign in workspace.campaigns():
        for entry in workspace.tasks(campaign):
            attempts = () if entry.task is None else workspace.attempts(campaign, entry.task)
            for attempt in attempts:
                verdict = workspace.verdict(attempt.id, VerdictKind.FIRST)
                if verdict is None or verdict.passed or not verdict.feedback:
                    continue
                first = verdict.feedback[0]
                group = groups[campaign.settings.backend, first.gate, _text(first)]
                group.seen += 1
                group.tasks.add(entry.name)
                group.cured += any(_cures(other, attempt, first.gate) for other in attempts)
    return groups


def _cures(attempt: Attempt, parent: Attempt, gate: Gate) -> bool:
    """Whether an attempt refined a candidate and got past the gate that refused it."""
    if attempt.parent != parent.id or attempt.state is State.DECLINED:
        return False
    if attempt.state is State.PASSED:
        return True
    return attempt.gate is not None and _GATES.index(Gate(attempt.gate)) > _GATES.index(gate)


def _text(feedback: Feedback) -> str:
    """The kind and message of a refusal without what differs from one candidate to the next."""
    evidence = next((line for line in feedback.evidence if "trial" not in line), "")
    said = f"{feedback.kind}: {feedback.summary} {evidence}".strip()
    return _NUMBER.sub("N", said)[:_MAX_TEXT]


def _guide(target: str) -> str:
    name = target.partition(":")[0]
    if name not in backend_names():
        return ""
    return "\n".join(get_backend(name).guide().values())


def _is_known(text: str, guide: str) -> bool:
    kind, _, message = text.partition(": ")
    words = set(_WORD.findall(message))
    if f"`{kind}`" in guide:
        return True
    return bool(words) and sum(word in guide for word in words) >= _KNOWN_SHARE * len(words)
