"""The query for items of the memory, from a task and the state of its search."""

from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.memory import Item, ItemKind, ValueRole
from kernelmill.memory.embedding_text import decisions_text, task_text
from kernelmill.memory.failure_evidence import FailureEvidence, failure_evidence
from kernelmill.memory.item_extraction import bottleneck_of
from kernelmill.memory.items import identifiers, item_fingerprint
from kernelmill.memory.retrieval import Query
from kernelmill.records.attempt import Attempt
from kernelmill.records.decisions import APPROACH, Decisions, was_tried
from kernelmill.records.proposal import Parent, Stage
from kernelmill.records.task import Task
from kernelmill.strategies.attempt_hints import judged
from kernelmill.strategies.base import History

_CONTRACT = "contract"
"""The chapter of a guide whose facts every draft is shown."""


def item_query(
    task: Task,
    history: History,
    parent: Parent | None,
    stage: Stage,
    attempts: Sequence[Attempt] | None = None,
) -> Query:
    """The query, in view of some attempts on the task; by default of all in the history."""
    attempts = history.attempts if attempts is None else attempts
    role = ValueRole.DRAFT if stage is Stage.DRAFT else ValueRole.REFINE
    current = parent.decisions if parent is not None and parent.verdict.passed else {}
    refusal = _refusal(parent)
    bottleneck = bottleneck_of(parent) if role is ValueRole.REFINE else ""
    own = {attempt.id for attempt in attempts}
    tried = [attempt.decisions for attempt in attempts if attempt.decisions]

    def useful(item: Item) -> bool:
        if item.kind is ItemKind.TRACE and item.provenance.attempt in own:
            return False
        return _is_free_form(current) or (bool(item.decisions) and _is_news(item, current, tried))

    return Query(
        text=" ".join((task_text(task), stage, decisions_text(current), bottleneck, *refusal.text)),
        task=task.id,
        family=task.family,
        backend=history.backend,
        role=role,
        bottleneck=bottleneck,
        chapter=_CONTRACT if role is ValueRole.DRAFT else bottleneck,
        names=() if parent is None else identifiers(_code(parent)),
        attempts=len(judged(attempts)),
        stale=_attempts_since_progress(attempts),
        useful=useful,
        failure=refusal.fingerprint(history.backend),
    )


class _Refusal(NamedTuple):
    """The failure that the next attempt is to repair; without evidence where there is none."""

    evidence: FailureEvidence | None

    @property
    def text(self) -> tuple[str, ...]:
        return () if self.evidence is None else (self.evidence.error, self.evidence.message)

    def fingerprint(self, backend: str) -> str:
        if self.evidence is None:
            return ""
        return item_fingerprint(ItemKind.EXPERIENCE, backend, self.evidence.identity)


def _refusal(parent: Parent | None) -> _Refusal:
    if parent is None or parent.verdict.passed:
        return _Refusal(None)
    return _Refusal(failure_evidence(parent.verdict, None, None))


def _is_free_form(decisions: Decisions) -> bool:
    """Whether a kernel was written by hand or by a model: then all code may tell it something."""
    return decisions.keys() <= {APPROACH}


def _is_news(item: Item, current: Decisions, tried: list[Decisions]) -> bool:
    """Whether an item names decisions that are open here, and neither taken nor tried yet."""
    if not current:
        return True
    open_here = {name: choice for name, choice in item.decisions.items() if name in current}
    if (item.outcome or 0.0) < 0:
        return bool(open_here)
    return not was_tried(current | open_here, (current, *tried))


def _attempts_since_progress(attempts: Sequence[Attempt]) -> int:
    best, since = 0.0, 0
    for attempt in judged(attempts):
        improved = (attempt.ratio or 0.0) > best
        best, since = max(best, attempt.ratio or 0.0), 0 if improved else since + 1
    return since


def _code(parent: Parent) -> str:
    return "\n".join(parent.candidate.files.values())
