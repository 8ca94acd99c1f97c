"""Where the next attempt of a task starts: a refused one to repair, or the base to improve."""

from collections.abc import Sequence

from kernelmill.skills.policy import InForce
from kernelmill.skills.trajectory import Recorded
from kernelmill.workspace import Attempt, State

_CLEAR_SHARE, _CLEAR_DIFFERENCE = 1.3, 0.3
"""The base moves to what is this many times as fast, or this much more of eager's speed."""


def to_repair(attempts: Sequence[Attempt], most: int) -> Attempt | None:
    """The last attempt, where it was refused and was not repaired too often already."""
    known = {attempt.id: attempt for attempt in attempts}
    tried = [attempt for attempt in attempts if attempt.state != State.DECLINED]
    if not tried or tried[-1].state != State.REFUSED:
        return None
    repairs, ancestor = 0, known.get(tried[-1].parent or 0)
    while ancestor is not None and ancestor.state == State.REFUSED:
        repairs, ancestor = repairs + 1, known.get(ancestor.parent or 0)
    return tried[-1] if repairs < most else None


def base_of(attempts: Sequence[Attempt], patience: int) -> Attempt | None:
    """Where to improve from: it moves on a clear win only, or to the best after too many tries."""
    base: Attempt | None = None
    best: Attempt | None = None
    since = 0
    for attempt in attempts:
        since += 1
        ratio = attempt.ratio
        if ratio is not None and (best is None or ratio > (best.ratio or 0.0)):
            best = attempt
        if ratio is not None and (base is None or _clearly(ratio, base.ratio or 0.0)):
            base, since = attempt, 0
        elif since >= patience and best is not None and best is not base:
            base, since = best, 0
    return base


def in_force(history: Recorded, broken: int) -> InForce | None:
    """The method behind a refused attempt, through the repairs that failed since."""
    known = {attempt.id: attempt for attempt in history.attempts}
    attempt = known.get(broken)
    while attempt is not None and attempt.state == State.REFUSED:
        planned = history.planned(attempt)
        if planned is not None and planned.plan is not None and planned.guidance is not None:
            for method in planned.guidance.methods:
                if method.name == planned.plan.method:
                    return InForce(planned.guidance.rule, method)
        attempt = known.get(attempt.parent or 0)
    return None


def _clearly(ratio: float, before: float) -> bool:
    return ratio >= min(_CLEAR_SHARE * before, before + _CLEAR_DIFFERENCE)
