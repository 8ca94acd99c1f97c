"""Extraction of memory items from a finished attempt."""

import difflib
import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kernelmill.memory.embedding_text import decisions_text, task_text
from kernelmill.memory.items import (
    FAILURE,
    SUCCESS,
    Item,
    ItemKind,
    NewItem,
    Provenance,
    ValueRole,
)
from kernelmill.records.attempt import Attempt, Result
from kernelmill.records.candidate import Candidate
from kernelmill.records.decisions import Decisions
from kernelmill.records.proposal import REFUSED, Parent
from kernelmill.records.verdict import MARGIN, Verdict

_MOST_CHANGED_LINES = 40
_FAILURE_VALUES = {ValueRole.DRAFT: 1.0, ValueRole.REFINE: 0.5}
"""Initial values of a failure: for drafting, it helps as much as a success."""
_SIGNATURE_WORDS = 12
"""Words of an error message that distinguish it from others."""


class _Error(NamedTuple):
    kind: str
    message: str


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
        self._task = result.proposal.task
        self._parent = result.proposal.parent
        self._best_before = best_before
        self._reward = reward
        self._provenance = Provenance(
            task=self._task.id,
            family=self._task.family,
            backend=result.proposal.backend,
            generator=generator,
            campaign=attempt.campaign,
            attempt=attempt.id,
        )

    def __iter__(self) -> Iterator[NewItem]:
        yield self._trace()
        verdict = self._result.deciding
        if verdict is not None and verdict.feedback:
            yield self._failure(verdict)
        elif self._attempt.ratio is None:
            return  # a backend without a clock: it passed, and nothing says how fast it is
        elif self._best_before is None:
            yield self._first_success()
        elif self._parent is not None and self._parent.verdict.passed:
            yield from self._change(self._attempt.ratio, self._parent)

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
        return self._item(
            ItemKind.TRACE,
            f"{self._task.id} ({self._task.family}){_with_decisions(attempt.decisions)}: {text}",
            (self._task.digest, attempt.source or attempt.reason),
            decisions=attempt.decisions,
            outcome=outcome,
            values=values if attempt.ratio is not None else {},
        )

    def _failure(self, verdict: Verdict) -> NewItem:
        """One item per cause. It blames the decisions that all failures of this cause share."""
        error, evidence = _error(verdict)
        suspects = self._suspects()
        identity: tuple[str, ...] = (FAILURE, error, _signature(evidence))
        item = self._failure_item(suspects, identity, error, evidence)
        before = self._find(item.fingerprint)
        if before is None:
            return item
        common = dict(before.decisions.items() & suspects.items())
        if before.decisions and not common:
            return self._failure_item(
                suspects, (*identity, decisions_text(suspects)), error, evidence
            )
        return self._failure_item(common, identity, error, evidence)

    def _suspects(self) -> Decisions:
        """Decisions that may be the cause: without those that passed elsewhere, unless all did."""
        changed = self._changed() or self._attempt.decisions
        passed = self._passed()
        left = {
            name: choice
            for name, choice in changed.items()
            if not any(name in one and one[name] == choice for one in passed)
        }
        return left or changed

    def _failure_item(
        self, suspects: Decisions, identity: tuple[str, ...], error: str, evidence: str
    ) -> NewItem:
        return self._item(
            ItemKind.EXPERIENCE,
            f"On {self._task.family} ({self._task.id}), {error}: {evidence}. Avoid: "
            f"{decisions_text(suspects) or 'what this source did'}.",
            identity,
            decisions=suspects,
            outcome=REFUSED,
            category=FAILURE,
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

    def _change(self, ratio: float, parent: Parent) -> Iterator[NewItem]:
        """The effect on latency of the difference to the parent."""
        if parent.verdict.latency is None:
            return
        gain = ratio / parent.verdict.latency.over_baseline.ratio
        change = self._changed()
        if abs(gain - 1) <= MARGIN:
            return
        difference = decisions_text(change) or _difference(parent.candidate, self._result)
        if not difference:
            return
        outcome = math.tanh(math.log(gain))
        bottleneck = parent.verdict.latency.bottleneck
        kind = ItemKind.PRACTICE if gain > 1 else ItemKind.EXPERIENCE
        verb = "made it" if gain > 1 else "made it only"
        yield self._item(
            kind,
            f"On {self._task.family} ({self._task.id}), limited by {bottleneck}: {difference} "
            f"{verb} {gain:.2f}x as fast.",
            ("change", self._task.family, difference),
            decisions=change,
            outcome=outcome,
            category=bottleneck if gain > 1 else "slower",
            values={ValueRole.REFINE: outcome} if gain > 1 else {},
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
        values: dict[ValueRole, float] | None = None,
    ) -> NewItem:
        return NewItem(
            kind,
            text,
            f"{task_text(self._task)} {decisions_text(decisions)} {category}",
            self._provenance,
            identity,
            decisions,
            outcome,
            category,
            source=self._attempt.source,
            values=values or {},
        )


def bottleneck_of(parent: Parent | None) -> str:
    """The bottleneck that the parent's verdict names; empty where there is no latency."""
    if parent is None or parent.verdict.latency is None:
        return ""
    return parent.verdict.latency.bottleneck


def _error(verdict: Verdict) -> _Error:
    """The class of a failure, and its message."""
    first = verdict.feedback[0]
    return _Error(f"{first.gate} {first.kind}", first.summary)


def _signature(evidence: str) -> str:
    """The first words of a message without its numbers: equal for errors that differ in sizes."""
    return " ".join(re.findall(r"[A-Za-z_]+", evidence)[:_SIGNATURE_WORDS])


def _with_decisions(decisions: Decisions) -> str:
    return f" with {decisions_text(decisions)}" if decisions else ""


def _difference(parent: Candidate, result: Result) -> str:
    """Changed lines of the source, for candidates without decisions to compare."""
    if result.draft is None:
        return ""
    lines: list[str] = []
    for name, text in result.draft.candidate.files.items():
        before = parent.files.get(name, "").splitlines()
        lines += [
            line
            for line in difflib.unified_diff(before, text.splitlines(), name, name, "", "", 0, "")
            if not line.startswith(("---", "+++", "@@"))
        ]
    return "\n".join(lines[:_MOST_CHANGED_LINES])
