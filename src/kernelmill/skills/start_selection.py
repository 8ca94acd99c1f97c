"""Selection of the attempt that the next one starts from: one to repair, or one to improve."""

from collections.abc import Sequence

from kernelmill.records.attempt import Attempt, State
from kernelmill.skills.policy import MethodInRepair
from kernelmill.skills.trajectory import AttemptHistory

_CLEAR_FACTOR, _CLEAR_DIFFERENCE = 1.3, 0.3
"""A clear win is faster by this factor, or its ratio to the baseline is higher by this much."""


def attempt_to_repair(attempts: Sequence[Attempt], most: int) -> Attempt | None:
    """The last attempt, if it was refused and fewer than `most` repairs led to it."""
    known = {attempt.id: attempt for attempt in attempts}
    answered = [attempt for attempt in attempts if attempt.is_judged]
    if not answered or answered[-1].state != State.REFUSED:
        return None
    repairs, ancestor = 0, known.get(answered[-1].parent or 0)
    while ancestor is not None and ancestor.state == State.REFUSED:
        repairs, ancestor = repairs + 1, known.get(ancestor.parent or 0)
    return answered[-1] if repairs < most else None


def base_attempt(attempts: Sequence[Attempt], patience: int) -> Attempt | None:
    """The attempt to improve: the last clear win, or the best after `patience` without one."""
    base: Attempt | None = None
    best: Attempt | None = None
    since = 0
    for attempt in attempts:
        if not attempt.is_judged:
            continue
        since += 1
        ratio = attempt.ratio
        if ratio is not None and (best is None or ratio > (best.ratio or 0.0)):
            best = attempt
        if ratio is not None and (base is None or _is_clear_win(ratio, base.ratio or 0.0)):
            base, since = attempt, 0
        elif since >= patience and best is not None and best is not base:
            base, since = best, 0
    return base


def method_in_repair(history: AttemptHistory, refused: int) -> MethodInRepair | None:
    """The method that a refused attempt carried out, or the attempt that it tried to repair."""
    known = {attempt.id: attempt for attempt in history.attempts}
    attempt = known.get(refused)
    while attempt is not None and attempt.state == State.REFUSED:
        planned = history.planned(attempt)
        if planned is not None and planned.plan is not None and planned.guidance is not None:
            for method in planned.guidance.methods:
                if method.name == planned.plan.method:
                    return MethodInRepair(planned.guidance.rule, method)
        attempt = known.get(attempt.parent or 0)
    return None


def _is_clear_win(ratio: float, before: float) -> bool:
    return ratio >= min(_CLEAR_FACTOR * before, before + _CLEAR_DIFFERENCE)
