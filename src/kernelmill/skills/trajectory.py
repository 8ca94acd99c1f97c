"""The trajectory of a task: what was planned for each attempt, and its outcome.

It is derived from the stored attempts and plans, and has no state of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kernelmill.records.attempt import Attempt, AttemptPlan, State
from kernelmill.records.guidance import Plan, TrajectoryStep
from kernelmill.records.proposal import Parent
from kernelmill.records.task import Task
from kernelmill.skills.library import Library
from kernelmill.skills.prediction import check_plan


class AttemptHistory(Protocol):
    """The part of a task's history that a trajectory is derived from."""

    attempts: Sequence[Attempt]
    earlier: Sequence[Attempt]
    """Attempts of other campaigns, from which this one may have started."""

    def parent(self, attempt: Attempt) -> Parent: ...

    def planned(self, attempt: Attempt) -> AttemptPlan | None: ...


class AttemptStep(NamedTuple):
    """One step, and the attempt that carried it out."""

    attempt: Attempt
    step: TrajectoryStep


def trajectory(task: Task, history: AttemptHistory, library: Library) -> tuple[AttemptStep, ...]:
    """The steps of all attempts that followed a plan or a diagnosis, in order."""
    known = {attempt.id: attempt for attempt in (*history.earlier, *history.attempts)}
    steps = []
    for attempt in history.attempts:
        planned = history.planned(attempt)
        if planned is None or not attempt.is_judged:
            continue
        start = known.get(attempt.parent or 0)
        if planned.plan is not None and start is not None:
            plan = planned.plan
            found = check_plan(library, task, plan, history.parent(start), history.parent(attempt))
            step = TrajectoryStep(
                attempt.id, plan.method, _plan_text(plan), found.outcome, found.judgement
            )
            steps.append(AttemptStep(attempt, step))
        elif planned.diagnosis is not None:
            steps.append(AttemptStep(attempt, _repair(attempt, planned.diagnosis.fix)))
    return tuple(steps)


def _repair(attempt: Attempt, fix: str) -> TrajectoryStep:
    if attempt.state == State.PASSED:
        return TrajectoryStep(attempt.id, "", fix, "repaired", "worked")
    return TrajectoryStep(attempt.id, "", fix, f"refused: {attempt.reason}", "poor implementation")


def _plan_text(plan: Plan) -> str:
    return "; ".join(plan.steps) + (f" ({plan.difference})" if plan.difference else "")
