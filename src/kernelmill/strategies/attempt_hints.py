"""Hints about the earlier attempts of a task."""

from collections.abc import Sequence

from kernelmill.memory.values import refine_reward
from kernelmill.records.attempt import Attempt
from kernelmill.records.proposal import Hint, HintReason

_MOST_HINTS = 16
"""The latest attempts are shown: a prompt has limited space."""


def attempt_hints(attempts: Sequence[Attempt], start: Attempt | None) -> list[Hint]:
    """One hint per attempt. Its outcome is relative to the start point, or to the baseline where
    the start point did not pass."""
    reference = (start.ratio if start is not None else None) or 1.0
    return [
        Hint(
            "trace",
            _outcome(attempt),
            decisions=attempt.decisions,
            outcome=refine_reward(attempt.ratio, reference),
            why=HintReason(_relation(attempt, start)),
        )
        for attempt in judged(attempts)[-_MOST_HINTS:]
    ]


def judged(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts that say something of a kernel: neither declined nor lost."""
    return [attempt for attempt in attempts if attempt.is_judged]


def _outcome(attempt: Attempt) -> str:
    if attempt.ratio is None or attempt.latency_ms is None:
        return f"refused: {attempt.reason}"
    return f"passed: {attempt.latency_ms:.4f} ms, {attempt.ratio:.2f}x the baseline"


def _relation(attempt: Attempt, start: Attempt | None) -> str:
    if start is not None and attempt.id == start.id:
        return "the start point itself"
    child = start is not None and attempt.parent == start.id
    return "already tried from this start" if child else "already tried on this task"
