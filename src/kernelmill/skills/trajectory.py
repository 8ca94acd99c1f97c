"""The short-term memory of a task: what was planned, what was changed, what came of it.

Nothing is kept: it is read from the attempts and plans that are stored.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kernelmill.generators.base import Parent
from kernelmill.generators.planning import Plan, Step
from kernelmill.skills.library import Library
from kernelmill.skills.prediction import check_plan
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Planned, State


class Recorded(Protocol):
    """A task's history, as far as it is needed here."""

    attempts: Sequence[Attempt]

    def parent(self, attempt: Attempt) -> Parent: ...

    def planned(self, attempt: Attempt) -> Planned | None: ...


class Taken(NamedTuple):
    """One step with the attempt that took it."""

    attempt: Attempt
    step: Step


def trajectory(task: Task, history: Recorded, library: Library) -> tuple[Taken, ...]:
    """Every attempt that followed a plan or a diagnosis, in order."""
    known = {attempt.id: attempt for attempt in history.attempts}
    taken = []
    for attempt in history.attempts:
        planned = history.planned(attempt)
        if planned is None or attempt.state == State.DECLINED:
            continue
        start = known.get(attempt.parent or 0)
        if planned.plan is not None and start is not None:
            plan = planned.plan
            found = check_plan(library, task, plan, history.parent(start), history.parent(attempt))
            step = Step(attempt.id, plan.method, _written(plan), found.outcome, found.judgement)
            taken.append(Taken(attempt, step))
        elif planned.diagnosis is not None:
            taken.append(Taken(attempt, _repair(attempt, planned.diagnosis.fix)))
    return tuple(taken)


def _repair(attempt: Attempt, fix: str) -> Step:
    if attempt.state == State.PASSED:
        return Step(attempt.id, "", fix, "repaired", "worked")
    return Step(attempt.id, "", fix, f"refused: {attempt.reason}", "poor implementation")


def _written(plan: Plan) -> str:
    return "; ".join(plan.steps) + (f" ({plan.difference})" if plan.difference else "")
