"""What was already tried on a task, as hints beside what the memory knows."""

from collections.abc import Sequence

from kernelmill.generators.base import Hint, Why
from kernelmill.memory.values import refine_reward
from kernelmill.workspace import Attempt, State

_MOST = 16
"""The latest are shown; more would only crowd a prompt."""


def tried_hints(attempts: Sequence[Attempt], start: Attempt | None) -> list[Hint]:
    """Each in the light of the start point; of eager where nothing has passed yet."""
    measure = (start.ratio if start is not None else None) or 1.0
    return [
        Hint(
            "trace",
            _outcome(attempt),
            decisions=attempt.decisions,
            outcome=refine_reward(attempt.ratio, measure),
            why=Why(_relation(attempt, start)),
        )
        for attempt in answered(attempts)[-_MOST:]
    ]


def answered(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.state != State.DECLINED]


def _outcome(attempt: Attempt) -> str:
    if attempt.ratio is None or attempt.latency_ms is None:
        return f"refused: {attempt.reason}"
    return f"passed: {attempt.latency_ms:.4f} ms, {attempt.ratio:.2f}x the baseline"


def _relation(attempt: Attempt, start: Attempt | None) -> str:
    if start is not None and attempt.id == start.id:
        return "the start point itself"
    child = start is not None and attempt.parent == start.id
    return "already tried from this start" if child else "already tried on this task"
