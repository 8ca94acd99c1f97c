"""The short-term memory of a task: what was planned, what was changed, what came of it.

Nothing is kept: it is read from the attempts and plans that are stored.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kernelmill.generators.base import Parent
from kernelmill.generators.planning import Plan, Step
from kernelmill.skills.library import Library
from kernelmill.skills.measuring import measure
from kernelmill.skills.method_files import Expectation
from kernelmill.skills.metrics import Metrics
from kernelmill.skills.prediction import Check, check
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
            outcome = _checked(task, history, library, attempt, start, plan)
            step = Step(attempt.id, plan.method, _written(plan), outcome.outcome, outcome.judgement)
            taken.append(Taken(attempt, step))
        elif planned.diagnosis is not None:
            taken.append(Taken(attempt, _repair(attempt, planned.diagnosis.fix)))
    return tuple(taken)


def _repair(attempt: Attempt, fix: str) -> Step:
    if attempt.state == State.PASSED:
        return Step(attempt.id, "", fix, "repaired", "worked")
    return Step(attempt.id, "", fix, f"refused: {attempt.reason}", "poor implementation")


def _checked(
    task: Task,
    history: Recorded,
    library: Library,
    attempt: Attempt,
    start: Attempt,
    plan: Plan,
) -> Check:
    if attempt.ratio is None:
        return Check("poor implementation", f"refused: {attempt.reason}")
    return check(
        expected_of(library, plan.method, history.parent(attempt).verdict.backend),
        _metrics(task, history.parent(start)),
        _metrics(task, history.parent(attempt)),
        attempt.ratio / start.ratio if start.ratio else None,
    )


def expected_of(library: Library, method: str, backend: str) -> Expectation | None:
    written = library.methods.get(method)
    part = None if written is None else written.front.backends.get(backend)
    return None if part is None else part.expectation


def _metrics(task: Task, parent: Parent) -> Metrics | None:
    return measure(task, parent.candidate, parent.verdict)


def _written(plan: Plan) -> str:
    return "; ".join(plan.steps) + (f" ({plan.difference})" if plan.difference else "")
