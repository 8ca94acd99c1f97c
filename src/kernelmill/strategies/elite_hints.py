"""Hints about the elites of an archive: code, figures, diagnosis and behaviour."""

from collections.abc import Sequence
from typing import NamedTuple

from kernelmill.archive import Elite
from kernelmill.memory.embedding_text import decisions_text
from kernelmill.memory.values import refine_reward
from kernelmill.records.attempt import Attempt
from kernelmill.records.proposal import Hint, HintCode, HintReason
from kernelmill.records.task import Task
from kernelmill.strategies.base import History


class Inspiration(NamedTuple):
    """An elite that a proposal shows, and why."""

    elite: Elite
    reason: str


def elite_hints(
    task: Task, history: History, inspirations: Sequence[Inspiration], start: Attempt | None
) -> list[Hint]:
    """One hint per elite; its outcome is relative to the start point, or to the baseline."""
    reference = (start.ratio if start is not None else None) or 1.0
    hints: dict[int, Hint] = {}
    for elite, reason in inspirations:
        attempt = history.attempt(elite.attempt)
        if attempt is None or attempt.id in hints or (start is not None and attempt.id == start.id):
            continue
        hints[attempt.id] = _hint(task, history, elite, attempt, reason, reference)
    return list(hints.values())


def _hint(
    task: Task, history: History, elite: Elite, attempt: Attempt, reason: str, reference: float
) -> Hint:
    source = history.parent(attempt)
    diagnosis = source.verdict.diagnosis_text
    behaviour = ", ".join(f"{name} {level}" for name, level in elite.cell._asdict().items())
    lines = [
        f"passed: {elite.fitness.speed:.2f}x the baseline in {elite.fitness.measurements} "
        f"measurements; behaviour of its code from 0 to 3: {behaviour}",
        *([f"what it does: {decisions_text(attempt.decisions)}"] if attempt.decisions else []),
        *([diagnosis] if diagnosis else []),
    ]
    return Hint(
        "trace",
        "\n".join(lines),
        decisions=attempt.decisions,
        outcome=refine_reward(elite.fitness.speed, reference),
        why=HintReason(f"{reason}, attempt {attempt.id}"),
        task=task.id,
        family=task.family,
        backend=history.backend,
        code=HintCode(attempt.source or "", files=source.candidate.files),
    )
