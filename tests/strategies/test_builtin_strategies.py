"""The built-in strategies keep the contract, and do what their names say."""

import pytest

from kernelmill.errors import UsageError
from kernelmill.generators.base import Stage
from kernelmill.strategies import Strategy, get_strategy, strategy_names
from kernelmill.strategies.base import rewards
from kernelmill.strategies.best_of_n import BestOfN
from kernelmill.strategies.conformance import HISTORIES, StrategyConformance, make_attempt
from kernelmill.strategies.refine import Refine
from kernelmill.strategies.value import ValueDriven
from kernelmill.workspace import State
from samples import make_task


class TestBestOfN(StrategyConformance):
    def strategy(self) -> Strategy:
        return BestOfN()


class TestRefine(StrategyConformance):
    def strategy(self) -> Strategy:
        return Refine()


class TestValueDriven(StrategyConformance):
    def strategy(self) -> Strategy:
        return ValueDriven()


def test_the_built_ins_are_plugged_in() -> None:
    assert {"best-of-n", "refine"} <= set(strategy_names())
    assert isinstance(get_strategy("refine"), Refine)
    with pytest.raises(UsageError, match="best-of-n, refine"):
        get_strategy("guess")


def test_best_of_n_looks_at_nothing() -> None:
    proposal = BestOfN().propose(make_task(), HISTORIES[-1])
    assert (proposal.stage, proposal.parent, proposal.context) == (Stage.DRAFT, None, ())


def test_refine_repairs_the_last_failure_then_improves_the_best() -> None:
    first, failed, declined, mixed = (Refine().propose(make_task(), h) for h in HISTORIES)
    assert (first.parent, first.stage) == (None, Stage.DRAFT)
    assert failed.parent is not None and failed.parent.attempt == 101
    assert failed.stage == Stage.DRAFT
    assert declined.parent is None
    assert mixed.parent is not None and mixed.parent.attempt == 102
    assert mixed.stage == Stage.REFINE
    assert [hint.decisions["number"] for hint in mixed.context] == [1, 2, 3, 4]
    assert all(hint.kind == "trace" for hint in mixed.context)


def test_rewards_are_relative_to_the_best_before() -> None:
    states = [(State.REFUSED, None), (State.PASSED, 1.0), (State.PASSED, 2.0), (State.PASSED, 1.0)]
    attempts = [make_attempt(n, state, ratio) for n, (state, ratio) in enumerate(states, 1)]
    assert rewards(attempts) == pytest.approx([-1, 1, 0.6, -0.6])
