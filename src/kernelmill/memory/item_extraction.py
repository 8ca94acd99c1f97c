"""Extraction of memory items from a finished attempt."""

import math
from collections.abc import Callable, Iterator

import msgspec

from kernelmill.memory.embedding_text import decisions_text, task_text
from kernelmill.memory.failure_evidence import FailureEvidence, failure_evidence
from kernelmill.memory.items import (
    FAILURE,
    SLOWER,
    SUCCESS,
    Item,
    ItemEvidence,
    ItemKind,
    Mended,
    NewItem,
    Provenance,
    ValueRole,
)
from kernelmill.records.attempt import Attempt, Result
from kernelmill.records.decisions import APPROACH, Decisions
from kernelmill.records.model_settings import WRITERS
from kernelmill.records.proposal import REFUSED, Parent
from kernelmill.records.source_diff import source_diff
from kernelmill.records.verdict import MARGIN, Verdict

_FAILURE_VALUES = {ValueRole.DRAFT: 1.0, ValueRole.REFINE: 0.5}
"""Initial values of a failure: for drafting, it helps as much as a success."""


class ExtractedItems:
    """The new items of one finished attempt, by iteration."""

    def __init__(
        self,
        attempt: Attempt,
        result: Result,
        generator: str,
        best_before: float | None,
        reward: float,
        find: Callable[[str], Item | None],
        passed: Callable[[], list[Decisions]],
    ) -> None:
        """`find` looks up an item by its fingerprint; `passed` lists decisions of kernels that
        passed on this backend."""
        self._find = find
        self._passed = passed
        self._attempt = attempt
        self._result = result
        self._candidate = None if result.draft is None else result.draft.candidate
        self._task = result.proposal.task
        self._parent = result.proposal.parent
        self._best_before = best_before
        self._reward = reward
        self._provenance = Provenance(
            task=self._task.id,
            family=self._task.family,
            backend=result.proposal.backend,
            generator=generator,
            model=_writer(result),
            campaign=attempt.campaign,
            attempt=attempt.id,
        )

    def __iter__(self) -> Iterator[NewItem]:
        yield self._trace()
        verdict = self._result.deciding
        if verdict is not None and verdict.feedback:
            yield self._failure(verdict)
        elif verdict is None or self._attempt.ratio is None:
            return  # a backend without a clock: it passed, and nothing says how fast it is
        elif self._best_before is None:
            yield self._first_success()
        elif self._parent is not None and self._parent.verdict.passed:
            yield from self._change(self._attempt.ratio, self._parent, verdict)

    @property
    def _baseline(self) -> str:
        verdict = self._result.deciding
        return "eager" if verdict is None or verdict.latency is None else verdict.latency.baseline

    def _trace(self) -> NewItem:
        attempt = self._attempt
        if attempt.ratio is not None:
            outcome, text = (
                math.tanh(math.log(attempt.ratio)),
                f"{attempt.ratio:.2f}x {self._baseline}",
            )
        else:
            outcome, text = REFUSED, attempt.reason
        gain = 0.0 if self._best_before is None else self._reward
        values = {ValueRole.DRAFT: 1.0, ValueRole.REFINE: outcome, ValueRole.START: gain}
        verdict = self._result.deciding
        diagnosis = "" if verdict is None else verdict.diagnosis_text
        return self._item(
            ItemKind.TRACE,
            f"{self._task.id} ({self._task.family}){_with_decisions(attempt.decisions)}: {text}",
            (self._task.digest, attempt.source or attempt.reason),
            decisions=attempt.decisions,
            outcome=outcome,
            evidence=ItemEvidence(diagnosis_after=diagnosis),
            values=values if attempt.ratio is not None else {},
        )

    def _failure(self, verdict: Verdict) -> NewItem:
        """One item per cause. It blames the decisions that all failures of this cause share."""
        found = failure_evidence(verdict, self._candidate, self._parent)
        suspects = self._suspects()
        item = self._failure_item(found, suspects, found.identity)
        before = self._find(item.fingerprint)
        if before is None:
            return item
        mended = before.evidence.mended
        if not before.decisions:
            return self._failure_item(found, suspects, found.identity, mended)
        common = dict(before.decisions.items() & suspects.items())
        if not common and suspects:
            identity = (*found.identity, decisions_text(suspects))
            return self._failure_item(found, suspects, identity)
        return self._failure_item(found, common, found.identity, mended)

    def _suspects(self) -> Decisions:
        """Decisions that may be the cause: without those that passed elsewhere, unless all did.

        A model's description of its own kernel is never the cause.
        """
        changed = self._changed() or self._attempt.decisions
        changed = {name: choice for name, choice in changed.items() if name != APPROACH}
        passed = self._passed() if changed else []
        left = {
            name: choice
            for name, choice in changed.items()
            if not any(name in one and one[name] == choice for one in passed)
        }
        return left or changed

    def _failure_item(
        self,
        found: FailureEvidence,
        suspects: Decisions,
        identity: tuple[str, ...],
        mended: Mended = "",
    ) -> NewItem:
        return self._item(
            ItemKind.EXPERIENCE,
            f"On {self._task.family} ({self._task.id}), {found.error}: {found.summary}.",
            identity,
            decisions=suspects,
            outcome=REFUSED,
            category=FAILURE,
            evidence=ItemEvidence(found.error, found.message, found.excerpt, mended),
            values=_FAILURE_VALUES,
        )

    def _first_success(self) -> NewItem:
        ratio = self._attempt.ratio or 1.0
        return self._item(
            ItemKind.EXPERIENCE,
            f"On {self._task.family} ({self._task.id}) this passed every gate, at {ratio:.2f}x "
            f"{self._baseline}{_with_decisions(self._attempt.decisions)}.",
            (SUCCESS, self._task.id, decisions_text(self._attempt.decisions)),
            decisions=self._attempt.decisions,
            outcome=math.tanh(math.log(ratio)),
            category=SUCCESS,
            values={ValueRole.DRAFT: 1.0},
        )

    def _change(self, ratio: float, parent: Parent, verdict: Verdict) -> Iterator[NewItem]:
        """The effect on latency of the difference to the parent."""
        if parent.verdict.latency is None or self._candidate is None:
            return
        gain = ratio / parent.verdict.latency.over_baseline.ratio
        diff = source_diff(parent.candidate.files, self._candidate.files)
        if abs(gain - 1) <= MARGIN or not diff:
            return
        change = self._changed()
        outcome = math.tanh(math.log(gain))
        bottleneck = parent.verdict.latency.bottleneck
        described = decisions_text(change) or "a change of the source"
        verb = "made it" if gain > 1 else "made it only"
        yield self._item(
            ItemKind.PRACTICE if gain > 1 else ItemKind.EXPERIENCE,
            f"On {self._task.family} ({self._task.id}), limited by {bottleneck}: {described} "
            f"{verb} {gain:.2f}x as fast.",
            ("change", self._task.family, decisions_text(change) or diff),
            decisions=change,
            outcome=outcome,
            category=bottleneck if gain > 1 else SLOWER,
            evidence=ItemEvidence(
                gain=gain,
                diagnosis_before=parent.verdict.diagnosis_text,
                diagnosis_after=verdict.diagnosis_text,
            ),
            values={ValueRole.REFINE: outcome} if gain > 1 else {},
            changes=parent,
        )

    def _changed(self) -> Decisions:
        """Decisions that differ from those of the parent; empty unless the parent passed."""
        if self._parent is None or not self._parent.verdict.passed:
            return {}
        before = self._parent.decisions
        return {
            name: choice
            for name, choice in self._attempt.decisions.items()
            if before.get(name) != choice
        }

    def _item(
        self,
        kind: ItemKind,
        text: str,
        identity: tuple[str, ...],
        *,
        decisions: Decisions,
        outcome: float,
        category: str = "",
        evidence: ItemEvidence | None = None,
        values: dict[ValueRole, float] | None = None,
        changes: Parent | None = None,
    ) -> NewItem:
        evidence = evidence or ItemEvidence()
        about = f"{decisions_text(decisions)} {category} {evidence.error} {evidence.message}"
        item = NewItem(
            kind,
            text,
            f"{task_text(self._task)} {about.strip()}",
            self._provenance,
            identity,
            decisions,
            outcome,
            category,
            source=self._attempt.source,
            change_from=None if changes is None else changes.candidate.digest,
            change_to=None if changes is None else self._attempt.source,
            evidence=evidence,
            values=values or {},
        )
        return item if kind is ItemKind.TRACE else self._with_lesson(item)

    def _with_lesson(self, item: NewItem) -> NewItem:
        """With what a summariser says of it, now or when it was met before."""
        lesson = self._result.lesson
        if not lesson:
            before = self._find(item.fingerprint)
            lesson = "" if before is None else before.evidence.summary
        evidence = msgspec.structs.replace(item.evidence, summary=lesson)
        return msgspec.structs.replace(item, evidence=evidence)


def bottleneck_of(parent: Parent | None) -> str:
    """The bottleneck that the parent's verdict names; empty where there is no latency."""
    if parent is None or parent.verdict.latency is None:
        return ""
    return parent.verdict.latency.bottleneck


def _writer(result: Result) -> str:
    """Name of the model that wrote the candidate: the last that answered in a writing role."""
    writers = [call.model for call in result.calls if call.role in WRITERS]
    return writers[-1] if writers else ""


def _with_decisions(decisions: Decisions) -> str:
    return f" with {decisions_text(decisions)}" if decisions else ""
