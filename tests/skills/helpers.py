"""Parents, histories and plans for the tests of the skills."""

from collections.abc import Sequence

import msgspec

from kernelmill.candidate import Candidate, Origin
from kernelmill.generators.base import Parent
from kernelmill.generators.decisions import Decisions
from kernelmill.generators.planning import Diagnosis, Guidance, Plan
from kernelmill.judge import Verdict
from kernelmill.strategies.base import History, seed_of
from kernelmill.strategies.conformance import empty_database, make_attempt
from kernelmill.tasks.task import Task
from kernelmill.workspace import Attempt, Planned, State
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


class ToldHistory(History):
    """What each attempt was made from, as the workspace would tell it."""

    def __init__(self, told: Sequence[tuple[Attempt, Parent | None, Planned | None]]) -> None:
        self.backend = "cpp"
        self.attempts = [attempt for attempt, _, _ in told]
        self.database = empty_database()
        self.seed = seed_of(0, "suite/task", len(told) + 1)
        self._parents = {attempt.id: made for attempt, made, _ in told}
        self._plans = {attempt.id: planned for attempt, _, planned in told}

    def parent(self, attempt: Attempt) -> Parent:
        made = self._parents[attempt.id]
        assert made is not None
        return made

    def planned(self, attempt: Attempt) -> Planned | None:
        return self._plans[attempt.id]


def told(
    number: int,
    ratio: float | None,
    kernel: str = SERIAL,
    start: int | None = None,
    method: str = "",
    verdict: Verdict | None = None,
    diagnosis: Diagnosis | None = None,
    **decisions: bool | int | str,
) -> tuple[Attempt, Parent | None, Planned | None]:
    """Attempt `number` with id 100 + number, made from the attempt with number `start`."""
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
        planned = Planned(guidance, plan(method) if method else None, diagnosis)
    return attempt, made, planned
