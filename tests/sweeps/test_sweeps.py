"""Sweeps: which combinations are measured, which are left out, and whether that was right."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelmill.archive.fitness import fitness_of
from kernelmill.records.sweep import Parameter, SweepSettings, SweepSpace, TrialPlan
from kernelmill.sweeps import SweepTrial, plan_trial
from kernelmill.sweeps.calibration import calibrate_surrogate
from kernelmill.sweeps.halving import due
from kernelmill.sweeps.planning import SURE
from kernelmill.sweeps.surrogate import Surrogate
from kernelmill.sweeps.table import sweep_table
from kernelmill.sweeps.trials import fastest
from sweeps.landscape import SETTINGS, SPACE, best_level, is_refused, level, sweep

SEEDS = range(12)


def of(attempt: int, *speeds: float) -> SweepTrial:
    choices = {**SPACE.defaults, "ROWS": attempt}
    fitness = fitness_of(speeds, 0.01) if speeds else None
    return SweepTrial(attempt, TrialPlan(1, choices), fitness)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(-9, 99) | st.sampled_from(["a", "b"]), min_size=1, max_size=4, unique_by=str),
        min_size=1, max_size=3,
    ),
    st.integers(0, 99),
)  # fmt: skip
def test_a_sweep_measures_no_combination_twice_and_ends(
    choices: list[list[int | str]], seed: int
) -> None:
    space = SweepSpace(tuple(Parameter(f"P{n}", tuple(some)) for n, some in enumerate(choices)))
    rng, trials, number = random.Random(seed), list[SweepTrial](), 0
    while (plan := plan_trial(1, space, trials, SETTINGS, seed + number)) is not None:
        assert plan.choices.keys() == {one.name for one in space.parameters}
        assert all(plan.choices[one.name] in one.choices for one in space.parameters)
        assert plan.choices not in [one.choices for one in trials]
        number += 1
        fitness = fitness_of([rng.uniform(0.5, 2.0)], 0.01) if rng.random() < 0.8 else None
        trials.append(SweepTrial(number, plan, fitness))
        assert number <= space.size
        if number == 20:
            break


def test_it_finds_the_best_with_a_part_of_the_combinations() -> None:
    """Noise is 1%, neighbours of the best are 8% slower; a fifth of the space has to be enough."""
    measured, found = 0, 0
    for seed in SEEDS:
        trials = sweep(seed, shift=seed % 3, most=16)
        best = fastest(trials)
        assert best is not None
        found += level(best.choices, seed % 3) >= best_level(seed % 3) - 0.03
        measured += len(trials)
    assert found >= 11 and measured / len(SEEDS) < 0.45 * SPACE.size


def test_what_was_left_out_would_have_lost() -> None:
    """When a sweep ends, no combination that it skipped is better than its best."""
    for seed in SEEDS:
        trials = sweep(seed, noise=0.003)
        best = fastest(trials)
        assert best is not None and len(trials) < SPACE.size
        tried = [one.choices for one in trials]
        left = [one for one in SPACE.combinations() if one not in tried and not is_refused(one)]
        assert left and max(map(level, left)) <= level(best.choices) + 0.01


def test_the_surrogate_is_calibrated() -> None:
    trials = [one for seed in range(24) for one in sweep(seed, shift=seed % 3, most=16)]
    found = calibrate_surrogate(trials)
    assert found is not None and found.forecasts > 200
    assert found.within >= 0.85 * found.passed, "too wide is safe, too narrow skips winners"
    assert 0.5 * found.wins <= found.expected_wins <= 2.0 * found.wins
    assert found.brier < 0.2 and found.checked > 5
    assert found.checked_wins <= max(1.0, 2 * SURE * found.checked)
    assert str(found.forecasts) in str(found)


def test_nothing_is_skipped_before_there_is_evidence() -> None:
    trials = sweep(1, most=4)
    assert all(one.plan.skipped == 0 and not one.plan.doubted for one in trials)


def test_a_forecast_tells_near_from_far_and_passing_from_refused() -> None:
    trials = [of(1, 1.0), of(2, 1.2), of(4, 1.45), of(8)]
    surrogate = Surrogate(SPACE, trials)
    near, far = SPACE.defaults | {"ROWS": 4, "UNROLL": 2}, {"ROWS": 1, "UNROLL": 1, "ORDER": "ji"}
    told = surrogate.forecast([near, far])
    assert told.mean[0] > told.mean[1] and told.deviation[0] < told.deviation[1]
    known = surrogate.forecast([SPACE.defaults | {"ROWS": 4}])
    assert known.mean[0] == pytest.approx(math.log(1.45), abs=0.02) and known.chance[0] < 0.2


def test_a_template_that_is_always_refused_is_given_up() -> None:
    trials = [
        SweepTrial(n, TrialPlan(1, one), None)
        for n, one in zip((1, 2, 3), SPACE.combinations(), strict=False)
    ]
    assert plan_trial(1, SPACE, trials[:1], SETTINGS, 7) is not None
    assert plan_trial(1, SPACE, trials, SETTINGS, 7) is None


def test_halving_measures_the_best_of_each_rung_again() -> None:
    assert due([of(1, 1.0), of(2, 2.0)], 9) == [], "a third of two is none"
    once = [of(n, 1.0 + 0.1 * n) for n in range(9)]
    assert due(once, 9) == [8, 7, 6]
    twice = [*once[:6], of(6, 1.6, 1.7), of(7, 1.7, 1.5), of(8, 1.8, 1.1)]
    assert due(twice, 9) == [6, 5], "8 was lucky: 5 takes its place in the best third"
    assert due([*twice, of(10)], 1) == [6]


def test_equal_histories_give_equal_plans_and_other_seeds_may_differ() -> None:
    trials = sweep(3, most=6)
    assert plan_trial(1, SPACE, trials, SETTINGS, 5) == plan_trial(1, SPACE, trials, SETTINGS, 5)


def test_a_space_that_is_too_large_to_list_is_sampled() -> None:
    space = SweepSpace(tuple(Parameter(f"P{n}", (1, 2, 4, 8)) for n in range(12)))
    trials = [SweepTrial(1, TrialPlan(1, space.defaults), fitness_of([1.0], 0.01))]
    plan = plan_trial(1, space, trials, SETTINGS, 3)
    assert plan is not None and plan.choices != space.defaults


def test_the_table_shows_the_fastest_first_and_what_was_left_out() -> None:
    text = sweep_table(7, SPACE, [of(1, 1.0), of(2, 1.5, 1.4), of(4)])
    head, *rows = text.splitlines()
    assert (
        "attempt 7" in head and "3 of 40 combinations" in head and "ROWS in 4, 1, 2, 8, 16" in head
    )
    assert (
        rows[0] == "- ROWS=2, UNROLL=4, ORDER=ij: 1.40x the baseline in 2 measurements (attempt 2)"
    )
    assert "refused (attempt 4)" in rows[-1]


def test_optuna_chooses_among_what_is_not_sure_to_lose() -> None:
    pytest.importorskip("optuna", reason="needs kernelmill[sweeps]")
    chosen = SweepSettings(sampler="optuna")
    trials = sweep(2, settings=chosen, most=16)
    best = fastest(trials)
    assert best is not None and level(best.choices) >= best_level() - 0.1
    plan = plan_trial(1, SPACE, trials[:8], chosen, 5)
    assert plan == plan_trial(1, SPACE, trials[:8], chosen, 5)
