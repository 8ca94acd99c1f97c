"""Parents, histories and plans for the tests of the skills."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kernelmill.conformance.histories import make_attempt, new_database
from kernelmill.memory import Memory
from kernelmill.records.attempt import Attempt, AttemptPlan, State
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.decisions import Decisions
from kernelmill.records.guidance import Diagnosis, Guidance, Plan
from kernelmill.records.proposal import ModelScore, Parent
from kernelmill.records.task import Task
from kernelmill.records.verdict import Verdict
from kernelmill.strategies.base import History, seed_of
from samples import make_task, make_verdict

SERIAL = 'extern "C" void run(float* x) { for (int i = 0; i < 9; ++i) x[i] = 0; }'
PARALLEL = SERIAL.replace("{ for", "{\n#pragma omp parallel for\nfor")
VECTORS = PARALLEL.replace("parallel for", "parallel for simd")
ALL_DECISIONS: Decisions = {"parallel": "none", "vectorise": False, "lanes": 64, "fuse": True}


def task() -> Task:
    """Streaming."""
    return msgspec.structs.replace(make_task(), signature=("relu.default",))


def candidate(kernel: str) -> Candidate:
    return Candidate({"model.py": "", "kernel.cpp": kernel}, Origin.COMPOSER)


def parent(
    kernel: str = SERIAL, ratio: float | None = 1.0, number: int = 1, **decisions: bool | int | str
) -> Parent:
    return Parent(number, candidate(kernel), make_verdict(ratio), ALL_DECISIONS | decisions)


def plan(method: str) -> Plan:
    return Plan(method, ("do it",), "passes = 1", "memory", "passes down")


class Recorded(NamedTuple):
    """An attempt with its source, verdict and plan."""

    attempt: Attempt
    parent: Parent
    """The attempt as the parent of another."""
    planned: AttemptPlan | None


class RecordedHistory(History):
    def __init__(self, recorded: Sequence[Recorded], target: str = "cpp") -> None:
        self.backend = target
        self.attempts = [one.attempt for one in recorded]
        self.memory = Memory(new_database())
        self.number = len(recorded) + 1
        self.seed = seed_of(0, "suite/task", self.number)
        self.parents = {one.attempt.id: one.parent for one in recorded}
        self._plans = {one.attempt.id: one.planned for one in recorded}

    @property
    def model_scores(self) -> tuple[ModelScore, ...]:
        return ()

    def parent(self, attempt: Attempt) -> Parent:
        return self.parents[attempt.id]

    def planned(self, attempt: Attempt) -> AttemptPlan | None:
        return self._plans[attempt.id]


def record(
    number: int,
    ratio: float | None,
    kernel: str = SERIAL,
    start: int | None = None,
    method: str = "",
    verdict: Verdict | None = None,
    diagnosis: Diagnosis | None = None,
    **decisions: bool | int | str,
) -> Recorded:
    """Attempt `number` with id 100 + number, which started from the attempt with number `start`."""
    state = State.REFUSED if ratio is None else State.PASSED
    attempt = msgspec.structs.replace(
        make_attempt(number, state, ratio),
        parent=None if start is None else 100 + start,
        decisions=ALL_DECISIONS | decisions,
    )
    made = parent(kernel, ratio, attempt.id, **decisions)
    if verdict is not None:
        made = msgspec.structs.replace(made, verdict=verdict)
    planned = None
    if method or diagnosis is not None:
        guidance = Guidance("rule", "memory", "high", "streaming", ("passes = 1",), (), {})
        planned = AttemptPlan(guidance, plan(method) if method else None, diagnosis)
    return Recorded(attempt, made, planned)
