"""The limits that keep a campaign from beginning another attempt."""

import pytest

from kernelmill.campaign import Ending, RunLimits
from kernelmill.records.campaign import Totals


def spent(known: float = 0.0, unpriced: int = 0, dearest: float | None = None) -> Totals:
    return Totals(1, 0, 0, 0, known, unpriced, dearest, 0.0, 0.0)


def test_without_limits_nothing_stops_it() -> None:
    assert RunLimits().reached(spent(1e9, 5, 1e6), 2) is None


def test_the_cost_limit_counts_attempts_under_way_at_the_highest_cost_so_far() -> None:
    limits = RunLimits(max_usd=1.0)
    assert limits.reached(spent(0.5, dearest=0.2), 1) is None
    assert limits.reached(spent(0.5, dearest=0.2), 2) is Ending.OUT_OF_MONEY
    assert limits.reached(spent(1.0, dearest=0.0), 0) is Ending.OUT_OF_MONEY


def test_the_first_attempt_under_a_cost_limit_runs_alone() -> None:
    assert not RunLimits(max_usd=1.0).must_learn_the_price(spent(), 0)
    assert RunLimits(max_usd=1.0).must_learn_the_price(spent(), 1)
    assert not RunLimits(max_usd=1.0).must_learn_the_price(spent(dearest=0.1), 1)
    assert not RunLimits().must_learn_the_price(spent(), 1)


def test_an_unknown_cost_ends_a_campaign_with_a_cost_limit() -> None:
    assert RunLimits(max_usd=1.0).reached(spent(unpriced=1), 0) is Ending.PRICE_UNKNOWN


def test_time() -> None:
    assert RunLimits(max_minutes=10).reached(spent(), 0) is None
    assert RunLimits(max_minutes=0).reached(spent(), 0) is Ending.OUT_OF_TIME


def test_a_second_interrupt_is_at_once() -> None:
    limits = RunLimits()
    limits.interrupt()
    assert limits.interrupted
    assert limits.reached(spent(), 0) is Ending.INTERRUPTED
    with pytest.raises(KeyboardInterrupt):
        limits.interrupt()
