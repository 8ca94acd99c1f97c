"""Hints about the earlier attempts of a task."""

from collections.abc import Callable, Sequence

from kernelmill.memory.values import refine_reward
from kernelmill.records.attempt import Attempt
from kernelmill.records.proposal import Hint, HintCode, HintReason, Parent
from kernelmill.records.source_diff import source_diff

_MOST_HINTS = 16
"""The latest attempts are shown: a prompt has limited space."""
_MOST_CHANGES = 6
"""Children of the start point, the latest ones, of which the change is shown."""
_MOST_DIFF_LINES = 80

SourceOf = Callable[[Attempt], Parent]
"""Reads the source and the verdict of an attempt: `History.parent`."""


def attempt_hints(
    attempts: Sequence[Attempt],
    start: Attempt | None,
    source_of: SourceOf | None = None,
    most: int = _MOST_HINTS,
) -> list[Hint]:
    """One hint per attempt. Its outcome is relative to the start point, or to the baseline where
    the start point did not pass. With `source_of`, children of the start point have their changes.
    """
    reference = (start.ratio if start is not None else None) or 1.0
    shown = judged(attempts)[-most:]
    changes: dict[int, HintCode] = {}
    if start is not None and source_of is not None:
        children = [one for one in shown if one.parent == start.id and one.source is not None]
        changes = {one.id: _change(one, start, source_of) for one in children[-_MOST_CHANGES:]}
    return [
        Hint(
            "trace",
            outcome_text(attempt),
            decisions=attempt.decisions,
            outcome=refine_reward(attempt.ratio, reference),
            why=HintReason(_relation(attempt, start)),
            code=changes.get(attempt.id),
        )
        for attempt in shown
    ]


def _change(child: Attempt, start: Attempt, source_of: SourceOf) -> HintCode:
    before, after = source_of(start), source_of(child)
    diff = source_diff(before.candidate.files, after.candidate.files, _MOST_DIFF_LINES)
    if child.ratio is None:
        effect = "refused after this change"
    elif start.ratio is None:
        effect = "it passed after this change"
    else:
        effect = f"this change made it {child.ratio / start.ratio:.2f}x as fast"
    diagnosis = after.verdict.diagnosis_text
    return HintCode(child.source or "", diff=diff, effect=effect, diagnosis_after=diagnosis)


def judged(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts that say something of a kernel: neither declined nor lost."""
    return [attempt for attempt in attempts if attempt.is_judged]


def outcome_text(attempt: Attempt) -> str:
    """What came of an attempt, in one line."""
    expected = f" (expected: {attempt.prediction})" if attempt.prediction else ""
    return f"{_result(attempt)}{expected}"


def _result(attempt: Attempt) -> str:
    if attempt.ratio is None or attempt.latency_ms is None:
        return f"refused: {attempt.reason}"
    return f"passed: {attempt.latency_ms:.4f} ms, {attempt.ratio:.2f}x the baseline"


def _relation(attempt: Attempt, start: Attempt | None) -> str:
    if start is not None and attempt.id == start.id:
        return "the start point itself"
    child = start is not None and attempt.parent == start.id
    return "already tried from this start" if child else "already tried on this task"
