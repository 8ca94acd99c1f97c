"""Hints about methods of the skill library: the rules gate them, their learned values rank them."""

from collections.abc import Sequence

from kernelmill.memory import Memory
from kernelmill.memory.items import ValueRole
from kernelmill.memory.values import ValueEstimate
from kernelmill.records.attempt import Attempt, Result
from kernelmill.records.guidance import Guidance
from kernelmill.records.proposal import Hint, HintCode, HintReason, Parent
from kernelmill.records.task import Task
from kernelmill.skills.library import Library
from kernelmill.skills.method_values import (
    MethodValue,
    ValueScope,
    add_method_item,
    device_of,
    method_value,
)
from kernelmill.skills.policy import PastAttempts, ValueLookup, guidance
from kernelmill.strategies.base import History

_OPTIMISM, _FAMILY_PRIOR = 0.2, 3.0
_MOST_OUTCOME = 0.9


def method_hints(
    library: Library, task: Task, history: History, parent: Parent | None, most: int
) -> list[Hint]:
    """The most valuable methods that the rules allow for a start point that passed."""
    if parent is None or not parent.verdict.passed or not most:
        return []
    memory = history.memory
    scope = ValueScope(history.backend, device_of(parent.verdict), task.family)
    past = PastAttempts((), [attempt.decisions for attempt in history.attempts])
    found = guidance(library, task, parent, past, _lookup(library, memory, scope))
    if found is None:
        return []
    known = [method.item for method in found.methods if method.item is not None]
    values = memory.values(known, ValueRole.REFINE)
    hints: list[Hint] = []
    for method in found.methods:
        if method.item is None or len(hints) == most:
            continue
        value = values.get((method.item, ""), ValueEstimate(0.0))
        clipped = max(-_MOST_OUTCOME, min(_MOST_OUTCOME, value.value))
        hints.append(
            Hint(
                "skill",
                f"{method.name}: {method.text.strip()}\nExpected effect: {method.expects}",
                method.item,
                method.decisions,
                clipped if value.visits else None,
                why=HintReason(_reason(found), None, value.value, value.visits),
                code=HintCode(diff=method.code, effect="the method on another kernel"),
            )
        )
    return hints


def allowed_methods(
    library: Library, task: Task, history: History, start: Attempt, attempts: Sequence[Attempt]
) -> Guidance | None:
    """What the rules allow for a start point, in view of some attempts; None for nothing."""
    parent = history.parent(start)
    if not parent.verdict.passed:
        return None
    scope = ValueScope(history.backend, device_of(parent.verdict), task.family)
    past = PastAttempts((), [attempt.decisions for attempt in attempts])
    return guidance(library, task, parent, past, _lookup(library, history.memory, scope))


def remember_methods(library: Library, memory: Memory, result: Result, attempt: int) -> None:
    """Make an item of every method that the rules allow for a kernel that passed, so that it can be
    valued."""
    draft, verdict, proposal = result.draft, result.deciding, result.proposal
    if draft is None or verdict is None or not verdict.passed:
        return
    end = Parent(attempt, draft.candidate, verdict, draft.decisions)
    scope = ValueScope(proposal.backend, device_of(verdict), proposal.task.family)
    found = guidance(library, proposal.task, end, PastAttempts(), _lookup(library, memory, scope))
    for method in () if found is None else found.methods:
        if method.item is None and found is not None:
            add_method_item(memory, found.rule, library.methods[method.name], scope)


def _lookup(library: Library, memory: Memory, scope: ValueScope) -> ValueLookup:
    def value_of(rule: str, name: str) -> MethodValue:
        method = library.methods[name]
        return method_value(memory, rule, method, scope, _OPTIMISM, _FAMILY_PRIOR)

    return value_of


def _reason(found: Guidance) -> str:
    evidence = f" ({'; '.join(found.evidence)})" if found.evidence else ""
    return f"the rule {found.rule} allows it here{evidence}"
