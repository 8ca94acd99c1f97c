"""The conformance suite of strategies refuses strategies that break the contract."""

import random

import msgspec
import pytest

from kernelmill.conformance.strategy import StrategyConformance
from kernelmill.memory import Memory
from kernelmill.records.attempt import Observation
from kernelmill.records.errors import WorkspaceError
from kernelmill.records.proposal import Hint, Proposal
from kernelmill.records.task import Task
from kernelmill.strategies import History
from kernelmill.strategies.best_of_n import BestOfN
from kernelmill.strategies.refine import Refine
from memory.helpers import make_item


class Partial(BestOfN):
    """Leaves out the number of the attempt and the scores of models."""

    def propose(self, task: Task, history: History) -> Proposal:
        return Proposal(task, history.backend, history.stage, history.seed)


class Foreign(Refine):
    """Starts from an attempt that is not in the history."""

    def propose(self, task: Task, history: History) -> Proposal:
        proposal = super().propose(task, history)
        if proposal.parent is None:
            return proposal
        parent = msgspec.structs.replace(proposal.parent, attempt=7)
        return msgspec.structs.replace(proposal, parent=parent)


class Random(BestOfN):
    """Has randomness of its own."""

    def propose(self, task: Task, history: History) -> Proposal:
        return history.proposal(task, instruction=str(random.random()))


class Writing(BestOfN):
    """Writes as it proposes."""

    def propose(self, task: Task, history: History) -> Proposal:
        history.memory.add(make_item(str(history.number)))
        return super().propose(task, history)


class Counting(BestOfN):
    """Keeps what it observed in itself."""

    def __init__(self) -> None:
        self._observed = 0

    def propose(self, task: Task, history: History) -> Proposal:
        return history.proposal(task, instruction=str(self._observed))

    def observe(self, observation: Observation, memory: Memory) -> None:
        self._observed += 1


class Committing(BestOfN):
    """Ends the transaction of the campaign."""

    def observe(self, observation: Observation, memory: Memory) -> None:
        memory._connection.execute("COMMIT")


class Silent(BestOfN):
    """Shows an item without a reason."""

    def propose(self, task: Task, history: History) -> Proposal:
        return history.proposal(task, context=[Hint("practice", "unroll", item=1)])


class Boastful(BestOfN):
    """Shows an outcome that is no reward."""

    def propose(self, task: Task, history: History) -> Proposal:
        return history.proposal(task, context=[Hint("trace", "fast", outcome=9.0)])


@pytest.mark.parametrize(
    ("strategy", "test"),
    [
        (Partial, "test_it_proposes_whole_proposals_for_every_history"),
        (Foreign, "test_it_starts_from_an_attempt_of_the_history"),
        (Random, "test_equal_histories_give_equal_proposals"),
        (Writing, "test_proposing_writes_nothing"),
        (Counting, "test_an_observation_that_is_rolled_back_is_forgotten"),
        (Counting, "test_a_restart_changes_nothing"),
        (Committing, "test_it_observes_every_outcome_without_ending_the_transaction"),
        (Silent, "test_every_item_it_shows_has_a_reason"),
        (Boastful, "test_outcomes_of_hints_are_rewards"),
    ],
)
def test_it_is_refused(strategy: type[BestOfN], test: str) -> None:
    class Suite(StrategyConformance):
        def strategy(self) -> BestOfN:
            return strategy()

    with pytest.raises((AssertionError, WorkspaceError)):
        getattr(Suite(), test)()
