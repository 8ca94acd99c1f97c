"""The policy of the skill strategy: methods that may be tried on a kernel, given its metrics."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kernelmill.records.decisions import Decisions, was_tried
from kernelmill.records.guidance import Guidance, Method, TrajectoryStep
from kernelmill.records.proposal import Parent
from kernelmill.records.target import backend_name
from kernelmill.records.task import Task
from kernelmill.skills.library import Library
from kernelmill.skills.method_decisions import next_decisions
from kernelmill.skills.method_files import MethodOnBackend
from kernelmill.skills.method_values import MethodValue
from kernelmill.skills.metric_reading import read_metrics
from kernelmill.skills.metrics import Metrics, format_metric
from kernelmill.skills.rule_matching import applicable_methods, forbidden_methods, match_rules
from kernelmill.skills.trajectory import AttemptStep

ValueLookup = Callable[[str, str], MethodValue]
"""Looks up the learned value of a method under a rule, by the names of rule and method."""
REPAIR = "repair"
"""In place of a rule's name, where a refused kernel is repaired."""


class PastAttempts(NamedTuple):
    """The earlier attempts of a task."""

    trajectory: Sequence[AttemptStep] = ()
    decisions: Sequence[Decisions] = ()
    """Decisions of all attempts."""

    @property
    def steps(self) -> tuple[TrajectoryStep, ...]:
        return tuple(one.step for one in self.trajectory)

    @property
    def worked(self) -> set[str]:
        """Names of methods that made a kernel faster."""
        return {step.method for step in self.steps if step.judgement == "worked"}

    def last_outcome(self, method: str) -> str:
        """The outcome of the last attempt with a method; empty where there was none."""
        for step in reversed(self.steps):
            if step.method == method:
                return f"attempt {step.attempt}: {step.plan}: {step.outcome} ({step.judgement})"
        return ""


class MethodInRepair(NamedTuple):
    """The method that a refused attempt carried out, under the rule that allowed it."""

    rule: str
    method: Method


def guidance(
    library: Library, task: Task, parent: Parent, past: PastAttempts, value_of: ValueLookup
) -> Guidance | None:
    """What the rules allow; None where the parent has no latency, or no method is left."""
    metrics = read_metrics(task, parent.candidate, parent.verdict)
    if metrics is None:
        return None
    table, recorded = library.table(parent.verdict.backend), _RecordingMetrics(metrics)
    match = match_rules(table, recorded)
    if match.case is None:
        return None
    forbidden = forbidden_methods(table, match.case, metrics) | _disproved(library, parent, past)
    values = {
        name: value_of(match.case.name, name)
        for name in applicable_methods(library, table, match, metrics)
        if name not in forbidden and not past.worked & set(library.methods[name].front.conflicts)
    }
    methods = [_method(library, name, value, parent, past) for name, value in values.items()]
    methods.sort(key=lambda method: (bool(method.tried), -values[method.name].score))
    if not methods:
        return None
    bottleneck, headroom, structure = match.classification
    return Guidance(
        match.case.name,
        bottleneck or "",
        headroom or "",
        structure or "",
        tuple(recorded.evidence()),
        tuple(methods),
        forbidden,
        past.steps,
    )


def repair_guidance(past: PastAttempts, repaired: MethodInRepair | None) -> Guidance:
    """Guidance for a refused kernel: only the method that it carried out is allowed."""
    rule = REPAIR if repaired is None else repaired.rule
    methods = () if repaired is None else (repaired.method,)
    return Guidance(rule, "", "", "", (), methods, {}, past.steps)


def _method(
    library: Library, name: str, value: MethodValue, parent: Parent, past: PastAttempts
) -> Method:
    method, target = library.methods[name], parent.verdict.backend
    part = method.front.backends[backend_name(target)]
    return Method(
        name,
        method.text(target),
        part.expects,
        next_decisions(part.alternatives, parent.decisions, past.decisions),
        value.item,
        past.last_outcome(name),
        method.code(target),
    )


def _disproved(library: Library, parent: Parent, past: PastAttempts) -> dict[str, str]:
    """Reasons against methods that did not help on this parent and have no other choices left."""
    reasons = {}
    for attempt, step in past.trajectory:
        if attempt.parent != parent.attempt or step.judgement != "wrong method":
            continue
        method = library.methods.get(step.method)
        part = None if method is None else method.on(parent.verdict.backend)
        if part is None or not _has_untried(part, parent, past):
            reasons[step.method] = f"tried in attempt {attempt.id}: {step.outcome}"
    return reasons


def _has_untried(part: MethodOnBackend, parent: Parent, past: PastAttempts) -> bool:
    """Whether some decisions of the method are open for this parent and were not tried."""
    current = parent.decisions
    decisions = next_decisions(part.alternatives, current, past.decisions)
    open_here = {name: choice for name, choice in decisions.items() if name in current}
    return bool(open_here) and not was_tried(current | open_here, past.decisions)


class _RecordingMetrics(dict[str, float | None]):
    """Metrics that record which of them were read: these are the evidence."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(metrics)
        self._read: dict[str, None] = {}

    def __getitem__(self, name: str) -> float | None:
        self._read[name] = None
        return super().__getitem__(name)

    def evidence(self) -> Iterator[str]:
        for name in self._read:
            yield format_metric(name, self.get(name))
