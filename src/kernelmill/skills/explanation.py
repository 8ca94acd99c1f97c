"""Explanation of an attempt of the skill strategy: rule, evidence, plan, outcome."""

from collections.abc import Iterator

from kernelmill.records.attempt import Attempt
from kernelmill.records.errors import UsageError
from kernelmill.records.guidance import Diagnosis, Guidance, Plan
from kernelmill.records.proposal import Parent
from kernelmill.skills.library import Library
from kernelmill.skills.prediction import check_plan
from kernelmill.workspace import Workspace


def explain_attempt(workspace: Workspace, attempt: Attempt, library: Library) -> str:
    """A text of several lines. Raises UsageError for an attempt that followed no rule."""
    planned = workspace.planned(attempt.id)
    if planned is None:
        raise UsageError(f"attempt {attempt.id} followed no rule: its strategy is not `skill`")
    result = "refused" if attempt.ratio is None else f"{attempt.ratio:.2f}x the baseline"
    start = "nothing" if attempt.parent is None else f"attempt {attempt.parent}"
    lines = [f"attempt {attempt.id}: {attempt.task_name}, {result}, from {start}"]
    if planned.guidance is not None:
        lines += _guidance(planned.guidance)
    if planned.diagnosis is not None:
        lines += _diagnosis(planned.diagnosis)
    if planned.plan is not None:
        lines += _plan(planned.plan)
        lines.append(f"outcome: {_outcome(workspace, attempt, library, planned.plan)}")
    return "\n".join(lines)


def _guidance(guidance: Guidance) -> Iterator[str]:
    state = f"bottleneck {guidance.bottleneck}, headroom {guidance.headroom}"
    where = f" ({state}, structure {guidance.structure})" if guidance.bottleneck else ""
    yield f"rule: {guidance.rule}{where}"
    for line in guidance.evidence:
        yield f"  {line}"
    for method in guidance.methods:
        tried = f"; tried before: {method.tried}" if method.tried else ""
        yield f"allowed: {method.name}, expects {method.expects}{tried}"
    for name, reason in guidance.forbidden.items():
        yield f"forbidden: {name}: {reason}"


def _plan(plan: Plan) -> Iterator[str]:
    yield f"plan: {plan.method}: {'; '.join(plan.steps)}"
    if plan.difference:
        yield f"difference: {plan.difference}"
    yield f"evidence: {plan.evidence}"
    yield f"ruled out: {plan.ruled_out}"
    yield f"prediction: {plan.expects}"


def _diagnosis(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"diagnosis: {diagnosis.issue}: {diagnosis.cause} ({diagnosis.confidence:.0%} sure)"
    yield f"evidence: {diagnosis.evidence}"
    yield f"fix: {diagnosis.fix}"


def _outcome(workspace: Workspace, attempt: Attempt, library: Library, plan: Plan) -> str:
    task = next(
        (
            entry.described
            for entry in workspace.tasks(workspace.campaign(attempt.campaign))
            if entry.task == attempt.task
        ),
        None,
    )
    end = stored_parent(workspace, attempt)
    start = None if attempt.parent is None else stored_parent(workspace, attempt.parent)
    if task is None or start is None or end is None:
        return attempt.reason or "there is no parent to compare it with"
    found = check_plan(library, task, plan, start, end)
    return f"{found.outcome}: {found.judgement}"


def stored_parent(workspace: Workspace, attempt: Attempt | int) -> Parent | None:
    """An attempt with its source and verdict; None for one that was declined."""
    found = workspace.attempt(attempt) if isinstance(attempt, int) else attempt
    candidate, verdict = workspace.candidate(found), workspace.verdict(found.id)
    if candidate is None or verdict is None:
        return None
    return Parent(found.id, candidate, verdict, found.decisions)
