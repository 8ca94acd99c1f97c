"""The cost budget: reserved before a call, and never exceeded."""

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelmill.campaign.cost_budget import RESERVE, CampaignCostBudget
from kernelmill.records.cost_budget import CostBudgetExceeded
from kernelmill.workspace import Workspace
from kernelmill.workspace.expenses import Expenses
from samples import SETTINGS, new_tasks


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "w", create=True)


def new_ledger(workspace: Workspace) -> Expenses:
    return workspace.expenses(workspace.create_campaign(SETTINGS, new_tasks("a")))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 0.6), st.floats(0, 1), st.booleans()), max_size=8))
def test_no_order_of_calls_exceeds_the_limit(
    workspace: Workspace, calls: list[tuple[float, float, bool]]
) -> None:
    ledger = new_ledger(workspace)
    budget = CampaignCostBudget(ledger, 1.0)
    spent = 0.0
    for most, share, closing in calls:
        try:
            reservation = budget.reserve(most, closing)
        except CostBudgetExceeded:
            limit = 1.0 if closing else 1 - RESERVE
            assert spent + most > limit - 1e-9
            continue
        budget.commit(reservation, share * most)
        spent += share * most
    assert spent <= 1 + 1e-9
    assert ledger.spent_usd == pytest.approx(spent)


def test_the_reserve_is_for_closing_calls(workspace: Workspace) -> None:
    budget = CampaignCostBudget(new_ledger(workspace), 1.0)
    budget.commit(budget.reserve(0.93), 0.93)
    with pytest.raises(CostBudgetExceeded, match=r"may cost 0\.0400 USD, and 0\.0200 USD are left"):
        budget.reserve(0.04)
    budget.reserve(0.04, closing=True)


def test_a_call_waits_for_reserved_amounts_to_be_committed(workspace: Workspace) -> None:
    budget = CampaignCostBudget(new_ledger(workspace), 1.0)
    first = budget.reserve(0.9)
    begun = threading.Event()
    held = []

    def second() -> None:
        begun.set()
        held.append(budget.reserve(0.5))

    thread = threading.Thread(target=second)
    thread.start()
    begun.wait()
    assert held == []
    budget.commit(first, 0.1)
    thread.join(10)
    assert len(held) == 1


def test_an_unknown_cost_counts_as_the_most_it_can_be(workspace: Workspace) -> None:
    ledger = new_ledger(workspace)
    budget = CampaignCostBudget(ledger, 1.0)
    budget.commit(budget.reserve(0.4), None)
    assert ledger.spent_usd == pytest.approx(0.4)


def test_all_processes_share_one_limit(workspace: Workspace) -> None:
    ledger = new_ledger(workspace)
    CampaignCostBudget(ledger, 1.0).reserve(0.8)
    with pytest.raises(CostBudgetExceeded):
        CampaignCostBudget(ledger, 1.0).reserve(0.3)


def test_without_a_limit_every_call_is_recorded(workspace: Workspace) -> None:
    ledger = new_ledger(workspace)
    budget = CampaignCostBudget(ledger, None)
    budget.commit(budget.reserve(None), None)
    budget.commit(budget.reserve(5.0), 3.0)
    budget.charge(0.5)
    assert ledger.spent_usd == pytest.approx(3.5)
