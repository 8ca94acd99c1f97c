"""Revision of remembered failures: what mended them, and what proved to be innocent."""

import msgspec

from kernelmill.memory.failure_evidence import failure_evidence
from kernelmill.memory.items import FAILURE, Item, ItemEvidence, ItemKind, item_fingerprint
from kernelmill.memory.store import Memory
from kernelmill.records.attempt import Attempt, Result
from kernelmill.records.decisions import Decisions
from kernelmill.records.proposal import Parent
from kernelmill.records.source_diff import changed_lines
from kernelmill.records.verdict import Gate, Verdict

_MOST_REVISED = 200
"""Failures of a backend, the most frequent ones, whose blame is revised after a success."""
_GATES = tuple(Gate)


def mend(memory: Memory, attempt: Attempt, result: Result) -> None:
    """Keep the change of an attempt as the fix of its parent's failure, if it mended that.

    It did if the attempt passed, or was refused at a later gate. Of several fixes the one that
    passed is kept, and of these the smallest.
    """
    parent, verdict = result.proposal.parent, result.deciding
    if parent is None or verdict is None or parent.verdict.passed or parent.verdict.is_lost:
        return
    further = _GATES.index(verdict.gate) > _GATES.index(parent.verdict.gate)
    item = _failure_of(memory, parent, result.proposal.backend)
    if item is None or attempt.source is None or not (verdict.passed or further):
        return
    if _is_better(memory, item, parent, result, verdict):
        evidence = _mended(item.evidence, verdict)
        memory.set_change(item.id, parent.candidate.digest, attempt.source, evidence)


def acquit(memory: Memory, attempt: Attempt, result: Result) -> None:
    """Take back what a kernel that passed proves innocent.

    Its decisions are blamed no longer where a failure has others to blame, or where the failure was
    on the same task: there all that was blamed has passed together. Its source is no failure.
    """
    if attempt.source is not None:
        memory.acquit_source(result.proposal.backend, result.proposal.task.id, attempt.source)
    ids = memory.most_frequent(ItemKind.EXPERIENCE, result.proposal.backend, FAILURE, _MOST_REVISED)
    for item in memory.items(ids):
        left = _still_blamed(item.decisions, attempt.decisions)
        same_task = item.provenance.task == result.proposal.task.id
        if left != item.decisions and (left or same_task):
            memory.set_blame(item.id, left)


def _still_blamed(blamed: Decisions, passed: Decisions) -> Decisions:
    return {
        name: choice
        for name, choice in blamed.items()
        if not (name in passed and passed[name] == choice)
    }


def _failure_of(memory: Memory, parent: Parent, backend: str) -> Item | None:
    identity = failure_evidence(parent.verdict, None, None).identity
    return memory.find(item_fingerprint(ItemKind.EXPERIENCE, backend, identity))


def _is_better(
    memory: Memory, item: Item, parent: Parent, result: Result, verdict: Verdict
) -> bool:
    if item.change_from is None or item.change_to is None or result.draft is None:
        return True
    if (item.evidence.mended == "passed") != verdict.passed:
        return verdict.passed
    known = changed_lines(
        memory.source_files(item.change_from), memory.source_files(item.change_to)
    )
    return changed_lines(parent.candidate.files, result.draft.candidate.files) < known


def _mended(evidence: ItemEvidence, verdict: Verdict) -> ItemEvidence:
    return msgspec.structs.replace(evidence, mended="passed" if verdict.passed else "further")
