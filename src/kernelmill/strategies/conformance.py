"""What every strategy must do, as tests: subclass it in a test module and name the strategy."""

from collections.abc import Sequence

from kernelmill.candidate import Candidate, Origin
from kernelmill.generators.base import Parent, Stage
from kernelmill.judge import Evidence, Gate, Verdict
from kernelmill.strategies.base import History, Strategy, seed_of
from kernelmill.tasks.task import Task, Variant
from kernelmill.tensors.layout import Node
from kernelmill.workspace import (
    Attempt,
    Observation,
    Planned,
    Result,
    Seconds,
    State,
    Transaction,
)
from kernelmill.workspace.database import database_in_memory

_TASK = Task(
    id="suite/task",
    family="pointwise",
    path="",
    source="",
    scale="cpu",
    variants=(Variant({}, Node(items=()), (), False),),
    flavours=("plain",),
    outputs=(),
    state={},
    signature=(),
    flops=0,
)
_EVIDENCE = Evidence("", "", "", 1, {}, "", "", "")


def empty_database() -> Transaction:
    """For attempts that are told, not stored: items may speak of them all the same."""
    database = database_in_memory()
    database.execute("PRAGMA foreign_keys = OFF")
    return database


class ShortHistory(History):
    """A history that lives in memory."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self.backend = "cpp"
        self.attempts = attempts
        self.database = empty_database()
        self.seed = seed_of(0, _TASK.id, len(attempts) + 1)

    def parent(self, attempt: Attempt) -> Parent:
        assert attempt in self.attempts, "a parent comes from the history"
        assert attempt.state != State.DECLINED, "a declined attempt has no source"
        passed = attempt.state == State.PASSED
        candidate = Candidate({"model.py": f"# {attempt.number}"}, Origin.SHIPPED)
        verdict = Verdict(
            _TASK.id,
            "cpp",
            candidate.digest,
            passed,
            Gate.LATENCY,
            (),
            (),
            None,
            None,
            {},
            _EVIDENCE,
        )
        return Parent(attempt.id, candidate, verdict, attempt.decisions)

    def planned(self, attempt: Attempt) -> Planned | None:
        assert attempt in self.attempts, "plans are those of the history"
        return None


def make_attempt(number: int, state: State, ratio: float | None = None) -> Attempt:
    return Attempt(
        id=100 + number,
        campaign=1,
        task=1,
        task_name=_TASK.id,
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


HISTORIES = (
    ShortHistory(()),
    ShortHistory((make_attempt(1, State.REFUSED),)),
    ShortHistory((make_attempt(1, State.DECLINED),)),
    ShortHistory(
        (
            make_attempt(1, State.REFUSED),
            make_attempt(2, State.PASSED, 1.5),
            make_attempt(3, State.PASSED, 0.5),
            make_attempt(4, State.REFUSED),
            make_attempt(5, State.DECLINED),
        )
    ),
)


class StrategyConformance:
    """A subclass (named Test...) gives `strategy()`."""

    def strategy(self) -> Strategy:
        raise NotImplementedError

    def test_it_proposes_for_every_history(self) -> None:
        for history in HISTORIES:
            proposal = self.strategy().propose(_TASK, history)
            assert proposal.task == _TASK
            assert proposal.backend == history.backend
            assert all(-1 <= (hint.outcome or 0) <= 1 for hint in proposal.context)

    def test_it_proposes_the_same_for_the_same_history(self) -> None:
        for history in HISTORIES:
            first = self.strategy().propose(_TASK, history)
            assert self.strategy().propose(_TASK, history) == first

    def test_attempts_get_seeds_of_their_own(self) -> None:
        strategy = self.strategy()
        seeds = {strategy.propose(_TASK, history).seed for history in HISTORIES[::3]}
        assert len(seeds) == 2

    def test_it_observes_without_ending_the_transaction(self) -> None:
        database = empty_database()
        database.execute("BEGIN")
        self.observe_all(HISTORIES[-1], database)
        assert database.in_transaction
        database.close()

    def test_it_proposes_what_it_observed(self) -> None:
        """Whatever it learned, it still answers, and says for each item why it is shown."""
        history = ShortHistory(HISTORIES[-1].attempts)
        self.observe_all(history, history.database)
        proposal = self.strategy().propose(_TASK, history)
        assert all(hint.why is not None for hint in proposal.context if hint.item is not None)

    def observe_all(self, history: ShortHistory, database: Transaction) -> None:
        proposal = self.strategy().propose(_TASK, ShortHistory(()))
        best: float | None = None
        for attempt in history.attempts:
            observation = Observation(attempt, Result(proposal, Seconds()), best, "replay")
            self.strategy().observe(observation, database)
            best = max(best or 0.0, attempt.ratio or 0.0) or None
