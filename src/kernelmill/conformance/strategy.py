"""Conformance suite of strategies: the contract of `kernelmill.strategies.base`, as tests.

A plug-in runs it by a subclass in one of its test modules:

    class TestMyStrategy(StrategyConformance):
        def strategy(self) -> Strategy:
            return MyStrategy()
"""

from collections.abc import Iterator

import msgspec

from kernelmill.conformance.histories import (
    TASK,
    InMemoryHistory,
    make_attempt,
    make_result,
    new_database,
)
from kernelmill.memory import Memory
from kernelmill.records.attempt import Attempt, Observation, State
from kernelmill.records.proposal import Proposal
from kernelmill.strategies.base import History, Strategy
from kernelmill.workspace import Transaction

_NOTHING_YET: tuple[Attempt, ...] = ()
_REFUSED = (make_attempt(1, State.REFUSED),)
_DECLINED = (make_attempt(1, State.DECLINED),)
_MIXED = (
    make_attempt(1, State.REFUSED),
    make_attempt(2, State.PASSED, 1.5),
    make_attempt(3, State.PASSED, 0.5),
    make_attempt(4, State.REFUSED),
    make_attempt(5, State.DECLINED),
)
_TARGETS = ("cpp", "pallas:v6e")
"""A backend, and a backend with a chip."""


class StrategyConformance:
    """Subclass it under a name that begins with `Test`, and implement `strategy`."""

    def strategy(self) -> Strategy:
        """A new instance, with the same settings every time."""
        raise NotImplementedError

    def test_its_name_can_be_given_on_the_command_line(self) -> None:
        name = self.strategy().name
        assert name and ":" not in name, "a colon separates the name from the settings"

    def test_it_proposes_whole_proposals_for_every_history(self) -> None:
        """Everything that the history knows is in the proposal: `history.proposal` fills it in."""
        for history in _histories():
            proposal = self.strategy().propose(TASK, history)
            assert proposal == _completed(proposal, history)

    def test_it_starts_from_an_attempt_of_the_history(self) -> None:
        for history in _histories():
            parent = self.strategy().propose(TASK, history).parent
            known = {attempt.id: history.parent(attempt) for attempt in _judged(history)}
            assert parent is None or parent == known.get(parent.attempt)

    def test_outcomes_of_hints_are_rewards(self) -> None:
        for history in _histories():
            context = self.strategy().propose(TASK, history).context
            assert all(-1 <= (hint.outcome or 0) <= 1 for hint in context)

    def test_equal_histories_give_equal_proposals(self) -> None:
        """From one instance, and from another: an interrupted attempt is proposed again."""
        for history in _histories():
            strategy = self.strategy()
            first = strategy.propose(TASK, history)
            assert strategy.propose(TASK, history) == first
            assert self.strategy().propose(TASK, history) == first

    def test_proposing_writes_nothing(self) -> None:
        database = new_database()
        self.learn_from_attempts(self.strategy(), database)
        database.execute("PRAGMA query_only = ON")
        self.strategy().propose(TASK, InMemoryHistory(_MIXED, memory=Memory(database)))

    def test_it_observes_every_outcome_without_ending_the_transaction(self) -> None:
        self.learn_from_attempts(self.strategy(), new_database())

    def test_an_observation_that_is_rolled_back_is_forgotten(self) -> None:
        database = new_database()
        strategy, memory = self.strategy(), Memory(database)
        history = InMemoryHistory(_MIXED[:2], memory=memory)
        before = strategy.propose(TASK, history)
        database.execute("BEGIN")
        strategy.observe(_observation(_MIXED[2], before, _MIXED[:2]), memory)
        database.execute("ROLLBACK")
        assert strategy.propose(TASK, history) == before

    def test_a_restart_changes_nothing(self) -> None:
        """What an instance has learned is in the memory, where another instance finds it."""
        database, strategy = new_database(), self.strategy()
        self.learn_from_attempts(strategy, database)
        history = InMemoryHistory(_MIXED, memory=Memory(database))
        assert self.strategy().propose(TASK, history) == strategy.propose(TASK, history)

    def test_every_item_it_shows_has_a_reason(self) -> None:
        database = new_database()
        self.learn_from_attempts(self.strategy(), database)
        proposal = self.strategy().propose(TASK, InMemoryHistory((), memory=Memory(database)))
        assert all(hint.why is not None for hint in proposal.context if hint.item is not None)

    def learn_from_attempts(self, strategy: Strategy, database: Transaction) -> None:
        """A small campaign: propose and observe each attempt in turn."""
        memory = Memory(database)
        for number, attempt in enumerate(_MIXED):
            proposal = strategy.propose(TASK, InMemoryHistory(_MIXED[:number], memory=memory))
            database.execute("BEGIN")
            strategy.observe(_observation(attempt, proposal, _MIXED[:number]), memory)
            assert database.in_transaction, "the campaign commits, together with the attempt"
            database.execute("COMMIT")


def _histories() -> Iterator[InMemoryHistory]:
    for target in _TARGETS:
        for attempts in (_NOTHING_YET, _REFUSED, _DECLINED, _MIXED):
            yield InMemoryHistory(attempts, target)


def _judged(history: History) -> Iterator[Attempt]:
    return (one for one in history.attempts if one.state != State.DECLINED)


def _completed(proposal: Proposal, history: History) -> Proposal:
    """A proposal with the same choices, and all else from the history."""
    return history.proposal(
        TASK,
        stage=proposal.stage,
        parent=proposal.parent,
        context=proposal.context,
        instruction=proposal.instruction,
        guidance=proposal.guidance,
        decisions=proposal.decisions,
        confirm_above=proposal.confirm_above,
        remeasure=proposal.remeasure,
        step=proposal.step,
        draft=proposal.draft,
        combinations=proposal.combinations,
        writer=proposal.writer,
    )


def _observation(attempt: Attempt, proposal: Proposal, before: tuple[Attempt, ...]) -> Observation:
    """An attempt that followed a proposal, as the campaign stores it."""
    stored = msgspec.structs.replace(
        attempt,
        stage=proposal.stage,
        parent=None if proposal.parent is None else proposal.parent.attempt,
        context=proposal.context,
    )
    ratios = [one.ratio for one in before if one.ratio is not None]
    best = max(ratios, default=None)
    return Observation(stored, make_result(attempt, proposal), best, "generator")
