"""Attempts and histories without a workspace, for the conformance suite of strategies."""

from collections.abc import Sequence

from kernelmill.memory import Memory
from kernelmill.records.attempt import Attempt, AttemptPlan, Result, Seconds, State
from kernelmill.records.candidate import Candidate, Origin
from kernelmill.records.proposal import Draft, ModelScore, Parent, Proposal, Stage
from kernelmill.records.target import backend_name
from kernelmill.records.task import Task, Variant
from kernelmill.records.tensors import Node
from kernelmill.records.verdict import Evidence, Feedback, Gate, Interval, Latency, Verdict
from kernelmill.strategies.base import History, seed_of
from kernelmill.workspace import Transaction
from kernelmill.workspace.database import database_in_memory

TASK = Task(
    id="suite/task",
    family="pointwise",
    path="",
    source="",
    scale="cpu",
    variants=(Variant({}, Node(items=()), (), False),),
    distributions=("plain",),
    outputs=(),
    state={},
    signature=(),
    flops=0,
)
_EVIDENCE = Evidence("", "", "processor", 1, {}, "", "", "")
_REASON = Feedback(Gate.CORRECTNESS, "numerical", "wrong")


def new_database() -> Transaction:
    """An empty database in RAM in which items may name attempts that are not stored."""
    database = database_in_memory()
    database.execute("PRAGMA foreign_keys = OFF")
    return database


class InMemoryHistory(History):
    """A history made of given attempts."""

    def __init__(
        self, attempts: Sequence[Attempt], target: str = "cpp", memory: Memory | None = None
    ) -> None:
        self.backend = target
        self.attempts = attempts
        self.memory = Memory(new_database()) if memory is None else memory
        self.number = len(attempts) + 1
        self.seed = seed_of(0, TASK.id, self.number)

    @property
    def model_scores(self) -> tuple[ModelScore, ...]:
        return (ModelScore("model", len(self.attempts), 0.5),)

    def parent(self, attempt: Attempt) -> Parent:
        assert attempt in self.attempts, "a parent is an attempt of the history"
        assert attempt.state != State.DECLINED, "a declined attempt has no source to start from"
        verdict = make_verdict(attempt, self.backend)
        return Parent(attempt.id, make_candidate(attempt), verdict, attempt.decisions)

    def planned(self, attempt: Attempt) -> AttemptPlan | None:
        assert attempt in self.attempts, "plans are those of the history's attempts"
        return None


def make_attempt(number: int, state: State, ratio: float | None = None) -> Attempt:
    return Attempt(
        id=100 + number,
        campaign=1,
        task=1,
        task_name=TASK.id,
        number=number,
        state=state,
        stage=Stage.DRAFT,
        seed=number,
        parent=None,
        gate=None,
        reason="" if state == State.PASSED else "correctness: numerical: wrong",
        latency_ms=None if ratio is None else 1 / ratio,
        ratio=ratio,
        tokens_in=None,
        tokens_out=None,
        cost_usd=None,
        seconds=Seconds(),
        source=None,
        origin=None,
        instruction="",
        prediction="",
        decisions={"number": number},
        context=(),
        done_at="",
    )


def make_candidate(attempt: Attempt) -> Candidate:
    return Candidate({"model.py": f"# {attempt.number}"}, Origin.SHIPPED)


def make_verdict(attempt: Attempt, target: str) -> Verdict:
    """The verdict of an attempt that was not declined."""
    ratio, latency = attempt.ratio, None
    if ratio is not None:
        latency = Latency(1 / ratio, 1.0, None, Interval.exactly(ratio), None, 0.0, 0.0, 5, 1)
    return Verdict(
        TASK.id,
        backend_name(target),
        make_candidate(attempt).digest,
        passed=latency is not None,
        gate=Gate.CORRECTNESS if latency is None else Gate.LATENCY,
        feedback=(_REASON,) if latency is None else (),
        trials=(),
        latency=latency,
        profile=None,
        seconds={},
        evidence=_EVIDENCE,
    )


def make_result(attempt: Attempt, proposal: Proposal) -> Result:
    """The result of a proposal: a decline, or a draft with its verdict."""
    if attempt.state == State.DECLINED:
        return Result(proposal, Seconds(), declined=attempt.reason)
    draft = Draft(make_candidate(attempt), attempt.decisions)
    return Result(proposal, Seconds(), draft, make_verdict(attempt, proposal.backend))
