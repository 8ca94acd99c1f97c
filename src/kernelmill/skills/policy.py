"""From where a kernel stands to what may be tried on it."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kernelmill.generators.base import Parent
from kernelmill.generators.decisions import Decisions, was_tried
from kernelmill.generators.planning import Guidance, Method, Step
from kernelmill.skills.alternatives import next_choices
from kernelmill.skills.library import Library
from kernelmill.skills.measuring import measure
from kernelmill.skills.method_files import OnBackend
from kernelmill.skills.metrics import Metrics, written
from kernelmill.skills.ruling import forbidden, offered, rule_on
from kernelmill.skills.trajectory import Taken
from kernelmill.skills.worth import Worth
from kernelmill.tasks.task import Task

Appraise = Callable[[str, str], Worth]
"""What a method is worth under a rule, by their names."""
REPAIR = "repair"
"""Stands for the rule where there is something to put right first."""


class Tried(NamedTuple):
    """What is known of a task's earlier attempts."""

    taken: Sequence[Taken] = ()
    decisions: Sequence[Decisions] = ()
    """Of everything that was tried."""

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(taken.step for taken in self.taken)

    @property
    def worked(self) -> set[str]:
        return {step.method for step in self.steps if step.judgement == "worked"}

    def what_came_of(self, method: str) -> str:
        """Of the last time; empty where it was not tried."""
        for step in reversed(self.steps):
            if step.method == method:
                return f"attempt {step.attempt}: {step.plan}: {step.outcome} ({step.judgement})"
        return ""


class InForce(NamedTuple):
    """What a refused attempt was about."""

    rule: str
    method: Method


def guidance(
    library: Library, task: Task, parent: Parent, tried: Tried, appraise: Appraise
) -> Guidance | None:
    """What the rules allow; None where nothing was measured, or nothing is left to try."""
    metrics = measure(task, parent.candidate, parent.verdict)
    if metrics is None:
        return None
    table, looked_at = library.table(parent.verdict.backend), _Noting(metrics)
    ruling = rule_on(table, looked_at)
    if ruling.case is None:
        return None
    against = forbidden(table, ruling.case, metrics) | _disproved(library, parent, tried)
    worths = {
        name: appraise(ruling.case.name, name)
        for name in offered(library, table, ruling, metrics)
        if name not in against and not tried.worked & set(library.methods[name].front.conflicts)
    }
    methods = [_method(library, name, worth, parent, tried) for name, worth in worths.items()]
    methods.sort(key=lambda method: (bool(method.tried), -worths[method.name].score))
    if not methods:
        return None
    bottleneck, headroom, structure = ruling.standing
    return Guidance(
        ruling.case.name,
        bottleneck or "",
        headroom or "",
        structure or "",
        tuple(looked_at.evidence()),
        tuple(methods),
        against,
        tried.steps,
    )


def for_repair(tried: Tried, in_force: InForce | None) -> Guidance:
    """No other method is allowed while a kernel is wrong; what was tried is shown all the same."""
    rule = REPAIR if in_force is None else in_force.rule
    methods = () if in_force is None else (in_force.method,)
    return Guidance(rule, "", "", "", (), methods, {}, tried.steps)


def _method(library: Library, name: str, worth: Worth, parent: Parent, tried: Tried) -> Method:
    method, backend = library.methods[name], parent.verdict.backend
    part = method.front.backends[backend]
    return Method(
        name,
        method.text(backend),
        part.expects,
        next_choices(part.alternatives, parent.decisions, tried.decisions),
        worth.item,
        tried.what_came_of(name),
    )


def _disproved(library: Library, parent: Parent, tried: Tried) -> dict[str, str]:
    """What was carried out on this very kernel and did not help, with nothing left to vary."""
    reasons = {}
    for attempt, step in tried.taken:
        if attempt.parent != parent.attempt or step.judgement != "wrong method":
            continue
        method = library.methods.get(step.method)
        part = None if method is None else method.front.backends.get(parent.verdict.backend)
        if part is None or not _varies(part, parent, tried):
            reasons[step.method] = f"tried in attempt {attempt.id}: {step.outcome}"
    return reasons


def _varies(part: OnBackend, parent: Parent, tried: Tried) -> bool:
    """Whether a choice is left, for a generator that works by these decisions."""
    at_hand = parent.decisions
    told = next_choices(part.alternatives, at_hand, tried.decisions)
    here = {name: choice for name, choice in told.items() if name in at_hand}
    return bool(here) and not was_tried(at_hand | here, tried.decisions)


class _Noting(dict[str, float | None]):
    """Metrics that note which of them were asked for: these are the evidence."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(metrics)
        self._asked: dict[str, None] = {}

    def __getitem__(self, name: str) -> float | None:
        self._asked[name] = None
        return super().__getitem__(name)

    def evidence(self) -> Iterator[str]:
        for name in self._asked:
            yield written(name, self.get(name))
