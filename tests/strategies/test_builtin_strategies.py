"""The built-in strategies: the contract, and what distinguishes each of them."""

import pytest

from kernelmill.conformance.histories import InMemoryHistory, make_attempt
from kernelmill.conformance.strategy import StrategyConformance
from kernelmill.records.attempt import State
from kernelmill.records.errors import UsageError
from kernelmill.records.proposal import Stage
from kernelmill.records.sweep import SweepSettings
from kernelmill.strategies import Strategy, get_strategy, strategy_names
from kernelmill.strategies.attempt_hints import attempt_hints
from kernelmill.strategies.auto import Auto
from kernelmill.strategies.best_of_n import BestOfN
from kernelmill.strategies.evolve import Evolve
from kernelmill.strategies.refine import Refine
from kernelmill.strategies.rewind import Rewind
from kernelmill.strategies.sweep import DecisionSweep
from kernelmill.strategies.sweeping import Sweeping
from kernelmill.strategies.tree import IntentTree
from kernelmill.strategies.value import ValueDriven
from samples import make_task

MIXED = (
    make_attempt(1, State.REFUSED),
    make_attempt(2, State.PASSED, 1.5),
    make_attempt(3, State.PASSED, 0.5),
    make_attempt(4, State.REFUSED),
    make_attempt(5, State.DECLINED),
)


class TestBestOfN(StrategyConformance):
    def strategy(self) -> Strategy:
        return BestOfN()


class TestRefine(StrategyConformance):
    def strategy(self) -> Strategy:
        return Refine()


class TestDecisionSweep(StrategyConformance):
    def strategy(self) -> Strategy:
        return DecisionSweep()


class TestSweeping(StrategyConformance):
    def strategy(self) -> Strategy:
        return Sweeping(Refine(), SweepSettings())


class TestValueDriven(StrategyConformance):
    def strategy(self) -> Strategy:
        return ValueDriven()


class TestEvolve(StrategyConformance):
    def strategy(self) -> Strategy:
        return Evolve()


class TestTree(StrategyConformance):
    def strategy(self) -> Strategy:
        return IntentTree()


class TestRewind(StrategyConformance):
    def strategy(self) -> Strategy:
        return Rewind()


class TestAuto(StrategyConformance):
    def strategy(self) -> Strategy:
        return Auto()


def test_the_built_ins_are_plugged_in() -> None:
    assert {"best-of-n", "refine"} <= set(strategy_names())
    assert isinstance(get_strategy("refine"), Refine)
    with pytest.raises(UsageError, match="best-of-n, evolve, refine"):
        get_strategy("guess")


def test_best_of_n_looks_at_nothing() -> None:
    proposal = BestOfN().propose(make_task(), InMemoryHistory(MIXED))
    assert (proposal.stage, proposal.parent, proposal.context) == (Stage.DRAFT, None, ())


def test_refine_repairs_the_last_failure_then_improves_the_best() -> None:
    first, failed, declined, mixed = (
        Refine().propose(make_task(), InMemoryHistory(attempts))
        for attempts in ((), MIXED[:1], MIXED[-1:], MIXED)
    )
    assert (first.parent, first.stage) == (None, Stage.DRAFT)
    assert failed.parent is not None and failed.parent.attempt == 101
    assert failed.stage == Stage.DRAFT
    assert declined.parent is None
    assert mixed.parent is not None and mixed.parent.attempt == 102
    assert mixed.stage == Stage.REFINE
    assert [hint.decisions["number"] for hint in mixed.context] == [1, 2, 3, 4]
    assert all(hint.kind == "trace" for hint in mixed.context)


def test_outcomes_of_attempts_are_relative_to_the_start() -> None:
    states = [
        (State.REFUSED, None),
        (State.PASSED, 1.0),
        (State.PASSED, 2.0),
        (State.DECLINED, None),
    ]
    attempts = [make_attempt(n, state, ratio) for n, (state, ratio) in enumerate(states, 1)]
    hints = attempt_hints(attempts, attempts[2])
    assert [hint.outcome for hint in hints] == pytest.approx([-1, -0.6, 0])
    assert [hint.outcome for hint in attempt_hints(attempts[:1], attempts[0])] == [-1]
