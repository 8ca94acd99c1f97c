"""From where a kernel stands to what may be tried on it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from kernelmill.generators.base import Parent
from kernelmill.generators.decisions import Choice, Decisions, was_tried
from kernelmill.generators.planning import Guidance, Method
from kernelmill.skills.library import Library
from kernelmill.skills.measuring import measure
from kernelmill.skills.metrics import Metrics, written
from kernelmill.skills.rule_files import Table
from kernelmill.skills.ruling import Ruling, forbidden, offered, rule_on
from kernelmill.skills.trajectory import Taken
from kernelmill.skills.worth import Worth
from kernelmill.tasks.task import Task

Judge = Callable[[str, str], Worth]
"""What a method is worth under a rule, by their names."""
REPAIR = "repair"
"""Stands for the rule where there is something to put right first."""


class Tried(NamedTuple):
    """What is known of a task's earlier attempts."""

    taken: Sequence[Taken] = ()
    decisions: Sequence[Decisions] = ()
    """Of everything that was tried."""


def guidance(
    library: Library, task: Task, parent: Parent, tried: Tried, worth: Judge
) -> Guidance | None:
    """What the rules allow; None where nothing was measured, or nothing is left to try."""
    metrics = measure(task, parent.candidate, parent.verdict)
    if metrics is None:
        return None
    return _Policy(library, library.table(parent.verdict.backend), parent, tried).guidance(
        metrics, worth
    )


def for_repair(tried: Tried) -> Guidance:
    """No method is allowed while a kernel is wrong; what was tried is shown all the same."""
    steps = tuple(taken.step for taken in tried.taken)
    return Guidance(REPAIR, "", "", "", (), (), {}, steps)


class _Policy:
    def __init__(self, library: Library, table: Table, parent: Parent, tried: Tried) -> None:
        self._library = library
        self._table = table
        self._parent = parent
        self._tried = tried

    def guidance(self, metrics: Metrics, worth: Judge) -> Guidance | None:
        looked_at = _Noting(metrics)
        ruling = rule_on(self._table, looked_at)
        if ruling.case is None:
            return None
        against = forbidden(self._table, ruling.case, metrics) | self._disproved()
        worths = {
            name: worth(ruling.case.name, name)
            for name in offered(self._library, self._table, ruling, metrics)
            if name not in against and not self._conflicts(name)
        }
        methods = [self._method(name, known) for name, known in worths.items()]
        methods.sort(key=lambda method: (bool(method.tried), -worths[method.name].score))
        return None if not methods else self._guidance(ruling, looked_at, methods, against)

    def _guidance(
        self,
        ruling: Ruling,
        looked_at: "_Noting",
        methods: list[Method],
        against: dict[str, str],
    ) -> Guidance:
        bottleneck, headroom, structure = ruling.standing
        return Guidance(
            rule=ruling.case.name if ruling.case is not None else "",
            bottleneck=bottleneck or "",
            headroom=headroom or "",
            structure=structure or "",
            evidence=tuple(looked_at.evidence()),
            methods=tuple(methods),
            forbidden=against,
            trajectory=tuple(taken.step for taken in self._tried.taken),
        )

    def _method(self, name: str, worth: Worth) -> Method:
        method = self._library.methods[name]
        part = method.front.backends[self._table.backend]
        return Method(
            name,
            method.text(self._table.backend),
            part.expects,
            next_choices(part.alternatives, self._parent.decisions, self._tried.decisions),
            worth.item,
            self._what_came_of(name),
        )

    def _what_came_of(self, name: str) -> str:
        steps = [taken.step for taken in self._tried.taken if taken.step.method == name]
        if not steps:
            return ""
        last = steps[-1]
        return f"attempt {last.attempt}: {last.plan}: {last.outcome} ({last.judgement})"

    def _disproved(self) -> dict[str, str]:
        """What was carried out on this very kernel and did not help, with nothing left to vary."""
        return {
            taken.step.method: f"tried in attempt {taken.attempt.id}: {taken.step.outcome}"
            for taken in self._tried.taken
            if taken.step.judgement == "wrong method"
            and taken.attempt.parent == self._parent.attempt
            and not self._varies(taken.step.method)
        }

    def _varies(self, name: str) -> bool:
        method = self._library.methods.get(name)
        part = None if method is None else method.front.backends.get(self._table.backend)
        if part is None:
            return False
        told = next_choices(part.alternatives, self._parent.decisions, self._tried.decisions)
        return bool(told) and not was_tried(self._parent.decisions | told, self._tried.decisions)

    def _conflicts(self, name: str) -> bool:
        """With a method that worked on this task."""
        worked = {one.step.method for one in self._tried.taken if one.step.judgement == "worked"}
        return bool(worked & set(self._library.methods[name].front.conflicts))


def next_choices(
    alternatives: Mapping[str, Sequence[Choice]], at_hand: Decisions, tried: Sequence[Decisions]
) -> Decisions:
    """The first of a method's choices that are not at hand and were not tried; else the first that
    are not at hand, else the first."""
    if not alternatives:
        return {}
    told = list(_combinations(alternatives))
    other = [one for one in told if any(at_hand.get(name) != one[name] for name in one)]
    fresh = [one for one in other if not was_tried(at_hand | one, tried)]
    return (fresh or other or told)[0]


def _combinations(alternatives: Mapping[str, Sequence[Choice]]) -> Iterator[Decisions]:
    for choices in product(*alternatives.values()):
        yield dict(zip(alternatives, choices, strict=True))


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
