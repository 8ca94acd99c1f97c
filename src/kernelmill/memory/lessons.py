"""What an attempt teaches: the items it leaves behind."""

import difflib
import math
import re
from collections.abc import Callable, Iterator

from kernelmill.candidate import Candidate
from kernelmill.generators.base import REFUSED, Parent
from kernelmill.generators.decisions import Decisions
from kernelmill.judge import Verdict
from kernelmill.judge.verdict import MARGIN
from kernelmill.memory.items import (
    FAILURE,
    SUCCESS,
    Item,
    ItemKind,
    NewItem,
    Provenance,
    Role,
)
from kernelmill.memory.subjects import described, task_subject
from kernelmill.workspace import Attempt, Result

_MOST_DIFFERENCE = 40
_TO_KNOW_WHAT_FAILS = {Role.DRAFT: 1.0, Role.REFINE: 0.5}
"""Is worth as much at first, for drafting, as to know what passes."""
_TELLING = 12
"""Words of a complaint that tell it from another."""


class Lessons:
    """Everything one finished attempt has to say."""

    def __init__(
        self,
        attempt: Attempt,
        result: Result,
        generator: str,
        best_before: float | None,
        reward: float,
        known: Callable[[str], Item | None],
        passed: Callable[[], list[Decisions]],
    ) -> None:
        """`known` finds an item by its fingerprint, `passed` what passed on this backend."""
        self._known = known
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
        if self._attempt.ratio is None:
            yield self._failure()
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
        values = {Role.DRAFT: 1.0, Role.REFINE: outcome, Role.START: gain}
        return self._item(
            ItemKind.TRACE,
            f"{self._task.id} ({self._task.family}){_how(attempt.decisions)}: {text}",
            (self._task.digest, attempt.source or attempt.reason),
            decisions=attempt.decisions,
            outcome=outcome,
            values=values if attempt.ratio is not None else {},
        )

    def _failure(self) -> NewItem:
        """One item for a cause: what all of its cases have in common and nothing that passed."""
        error, evidence = _error(self._result.deciding, self._attempt.reason)
        suspects = self._suspects()
        identity: tuple[str, ...] = (FAILURE, error, _signature(evidence))
        item = self._blaming(suspects, identity, error, evidence)
        before = self._known(item.fingerprint)
        if before is None:
            return item
        common = dict(before.decisions.items() & suspects.items())
        if before.decisions and not common:
            return self._blaming(suspects, (*identity, described(suspects)), error, evidence)
        return self._blaming(common, identity, error, evidence)

    def _suspects(self) -> Decisions:
        """The choices that may have made it fail: none that passed elsewhere, if any is left."""
        changed = self._changed() or self._attempt.decisions
        passed = self._passed()
        left = {
            name: choice
            for name, choice in changed.items()
            if not any(name in one and one[name] == choice for one in passed)
        }
        return left or changed

    def _blaming(
        self, suspects: Decisions, identity: tuple[str, ...], error: str, evidence: str
    ) -> NewItem:
        return self._item(
            ItemKind.EXPERIENCE,
            f"On {self._task.family} ({self._task.id}), {error}: {evidence}. Avoid: "
            f"{described(suspects) or 'what this source did'}.",
            identity,
            decisions=suspects,
            outcome=REFUSED,
            category=FAILURE,
            values=_TO_KNOW_WHAT_FAILS,
        )

    def _first_success(self) -> NewItem:
        ratio = self._attempt.ratio or 1.0
        return self._item(
            ItemKind.EXPERIENCE,
            f"On {self._task.family} ({self._task.id}) this passed every gate, at {ratio:.2f}x "
            f"{self._baseline}{_how(self._attempt.decisions)}.",
            (SUCCESS, self._task.id, described(self._attempt.decisions)),
            decisions=self._attempt.decisions,
            outcome=math.tanh(math.log(ratio)),
            category=SUCCESS,
            values={Role.DRAFT: 1.0},
        )

    def _change(self, ratio: float, parent: Parent) -> Iterator[NewItem]:
        """What the difference to the parent did to its latency."""
        if parent.verdict.latency is None:
            return
        gain = ratio / parent.verdict.latency.over_eager.ratio
        change = self._changed()
        if abs(gain - 1) <= MARGIN:
            return
        difference = described(change) or _difference(parent.candidate, self._result)
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
            values={Role.REFINE: outcome} if gain > 1 else {},
        )

    def _changed(self) -> Decisions:
        """The decisions that differ from a parent that passed."""
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
        values: dict[Role, float] | None = None,
    ) -> NewItem:
        return NewItem(
            kind,
            text,
            f"{task_subject(self._task)} {described(decisions)} {category}",
            self._provenance,
            identity,
            decisions,
            outcome,
            category,
            source=self._attempt.source,
            values=values or {},
        )


def bottleneck_of(parent: Parent | None) -> str:
    """What limits the start point, in the words of the verdict; empty where nothing is known."""
    if parent is None or parent.verdict.latency is None:
        return ""
    return parent.verdict.latency.bottleneck


def _error(verdict: Verdict | None, reason: str) -> tuple[str, str]:
    """The class of a failure, and its evidence."""
    if verdict is None or not verdict.feedback:
        return "declined", reason
    first = verdict.feedback[0]
    return f"{first.gate} {first.kind}", first.summary


def _signature(evidence: str) -> str:
    """The same for the same complaint, whatever sizes it names."""
    return " ".join(re.findall(r"[A-Za-z_]+", evidence)[:_TELLING])


def _how(decisions: Decisions) -> str:
    return f" with {described(decisions)}" if decisions else ""


def _difference(parent: Candidate, result: Result) -> str:
    """Where there are no decisions to compare: the changed lines of the source."""
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
    return "\n".join(lines[:_MOST_DIFFERENCE])
