"""Properties of rewards, reward statistics and value updates."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.memory.values import (
    REWARD_BOUND,
    SIGMA_FLOOR,
    RewardStatistics,
    ValueEstimate,
    constant_step,
    decreasing_step,
    draft_reward,
    exploration_bonus,
    refine_reward,
    shrunk_value,
)

bounded = st.floats(-REWARD_BOUND, REWARD_BOUND)
ratios = st.floats(1e-3, 1e3)


@given(bounded, st.lists(bounded, max_size=60), st.floats(0.0, 1.0))
def test_bounded_rewards_keep_values_bounded(
    first: float, rewards: list[float], alpha: float
) -> None:
    value = ValueEstimate(first)
    for reward in rewards:
        value = value.updated(reward, constant_step(value.visits, alpha))
        assert abs(value.value) <= REWARD_BOUND + 1e-9
    assert value.visits == len(rewards)


@given(st.lists(st.floats(-1.0, 1.0), max_size=40), st.floats(-1.0, 1.0))
def test_normalised_rewards_are_bounded_whatever_came_before(
    before: list[float], reward: float
) -> None:
    seen = RewardStatistics()
    for one in before:
        seen = seen.with_reward(one)
    assert abs(seen.normalised(reward)) <= REWARD_BOUND


def test_a_deviation_of_nothing_has_a_floor() -> None:
    seen = RewardStatistics().with_reward(0.5).with_reward(0.5)
    assert seen.deviation == 0.0
    assert seen.normalised(0.5 + SIGMA_FLOOR) == pytest.approx(1.0)


@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_statistics_do_not_depend_on_the_order(rewards: list[float], rng: random.Random) -> None:
    shuffled = rng.sample(rewards, len(rewards))
    one, other = RewardStatistics(), RewardStatistics()
    for reward, again in zip(rewards, shuffled, strict=True):
        one, other = one.with_reward(reward), other.with_reward(again)
    assert one.mean == pytest.approx(statistics.fmean(rewards), abs=1e-12)
    assert one.deviation == pytest.approx(statistics.stdev(rewards), abs=1e-9)
    assert other.mean == pytest.approx(one.mean, abs=1e-12)
    assert other.deviation == pytest.approx(one.deviation, abs=1e-9)


@given(st.lists(st.floats(-1.0, 1.0), max_size=30), st.lists(st.floats(-1.0, 1.0), max_size=30))
def test_merged_statistics_are_those_of_all_rewards(
    first: list[float], second: list[float]
) -> None:
    def of(rewards: list[float]) -> RewardStatistics:
        seen = RewardStatistics()
        for reward in rewards:
            seen = seen.with_reward(reward)
        return seen

    merged, whole = of(first).merged(of(second)), of(first + second)
    assert merged.count == whole.count
    assert merged.mean == pytest.approx(whole.mean, abs=1e-12)
    assert merged.squares == pytest.approx(whole.squares, abs=1e-9)


def test_a_constant_step_settles_at_mean_and_known_variance() -> None:
    """E[Q] -> mean R and Var(Q) -> alpha / (2 - alpha) Var(R) for independent rewards."""
    alpha, rng = 0.3, random.Random(7)
    ends = []
    for _ in range(4000):
        value = ValueEstimate(0.0)
        for _ in range(40):
            value = value.updated(rng.choice((-1.0, 1.0, 1.0)), constant_step(value.visits, alpha))
        ends.append(value.value)
    mean, variance = 1 / 3, 1 - 1 / 9
    assert statistics.fmean(ends) == pytest.approx(mean, abs=0.02)
    assert statistics.variance(ends) == pytest.approx(alpha / (2 - alpha) * variance, rel=0.08)


def test_decreasing_steps_converge() -> None:
    rng, value = random.Random(3), ValueEstimate(-1.0)
    for _ in range(20_000):
        value = value.updated(rng.choice((-1.0, 1.0, 1.0)), decreasing_step(value.visits, 1.0))
    assert value.value == pytest.approx(1 / 3, abs=0.02)


@given(ratios, ratios)
def test_the_refining_reward_is_the_papers(ratio: float, best: float) -> None:
    reward = refine_reward(ratio, best)
    rho = ratio / best
    assert reward == pytest.approx((rho**2 - 1) / (rho**2 + 1), abs=1e-9)
    assert -1 <= reward <= 1
    assert refine_reward(best, ratio) == pytest.approx(-reward, abs=1e-9)


def test_rewards_of_the_refused() -> None:
    assert refine_reward(None, 2.0) == draft_reward(False) == -1.0
    assert draft_reward(True) == 1.0
    assert refine_reward(2.0, 1.0) == pytest.approx(0.6)


@given(bounded, bounded, st.integers(0, 1000))
def test_a_familys_value_leaves_the_overall_one_with_visits(
    own: float, overall: float, visits: int
) -> None:
    between = shrunk_value(ValueEstimate(own, visits), ValueEstimate(overall, 9), 3.0)
    assert min(own, overall) - 1e-9 <= between <= max(own, overall) + 1e-9
    if visits == 0:
        assert between == overall


@given(st.integers(0, 10_000))
def test_the_exploration_bonus_shrinks(visits: int) -> None:
    assert exploration_bonus(visits + 1, 0.2) < exploration_bonus(visits, 0.2) <= 0.2
    assert math.isfinite(exploration_bonus(visits, 0.2))
