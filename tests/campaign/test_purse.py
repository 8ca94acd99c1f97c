"""Money: booked before it is spent, and never more than there is."""

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelmill.campaign.purse import RESERVE, CampaignPurse
from kernelmill.generators.money import NoMoney
from kernelmill.workspace import Workspace
from kernelmill.workspace.expenses import Expenses
from samples import SETTINGS, new_tasks


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "w", create=True)


def new_book(workspace: Workspace) -> Expenses:
    return workspace.expenses(workspace.create_campaign(SETTINGS, new_tasks("a")))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 0.6), st.floats(0, 1), st.booleans()), max_size=8))
def test_no_order_of_questions_spends_too_much(
    workspace: Workspace, questions: list[tuple[float, float, bool]]
) -> None:
    book = new_book(workspace)
    purse = CampaignPurse(book, 1.0)
    spent = 0.0
    for most, share, closing in questions:
        try:
            hold = purse.hold(most, closing)
        except NoMoney:
            limit = 1.0 if closing else 1 - RESERVE
            assert spent + most > limit - 1e-9
            continue
        purse.settle(hold, share * most)
        spent += share * most
    assert spent <= 1 + 1e-9
    assert book.spent_usd == pytest.approx(spent)


def test_the_reserve_is_for_what_closes(workspace: Workspace) -> None:
    purse = CampaignPurse(new_book(workspace), 1.0)
    purse.settle(purse.hold(0.93), 0.93)
    with pytest.raises(NoMoney, match=r"may cost 0\.0400 USD, and 0\.0200 USD are left"):
        purse.hold(0.04)
    purse.hold(0.04, closing=True)


def test_what_is_put_aside_is_waited_for(workspace: Workspace) -> None:
    purse = CampaignPurse(new_book(workspace), 1.0)
    first = purse.hold(0.9)
    begun = threading.Event()
    held = []

    def second() -> None:
        begun.set()
        held.append(purse.hold(0.5))

    thread = threading.Thread(target=second)
    thread.start()
    begun.wait()
    assert held == []
    purse.settle(first, 0.1)
    thread.join(10)
    assert len(held) == 1


def test_an_unknown_cost_counts_as_the_most_it_can_be(workspace: Workspace) -> None:
    book = new_book(workspace)
    purse = CampaignPurse(book, 1.0)
    purse.settle(purse.hold(0.4), None)
    assert book.spent_usd == pytest.approx(0.4)


def test_another_process_spends_from_the_same_money(workspace: Workspace) -> None:
    book = new_book(workspace)
    CampaignPurse(book, 1.0).hold(0.8)
    with pytest.raises(NoMoney):
        CampaignPurse(book, 1.0).hold(0.3)


def test_without_a_limit_everything_is_booked(workspace: Workspace) -> None:
    book = new_book(workspace)
    purse = CampaignPurse(book, None)
    purse.settle(purse.hold(None), None)
    purse.settle(purse.hold(5.0), 3.0)
    purse.book(0.5)
    assert book.spent_usd == pytest.approx(3.5)
