"""The interval of a ratio: properties on synthetic timings."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelmill.judge.statistics import ratio_interval
from kernelmill.records.verdict import Interval

seeds = st.integers(0, 2**32 - 1)


def timings(generator: np.random.Generator, mean: float, rounds: int = 20) -> np.ndarray:
    """Log-normal noise of 3%, and now and then a round disturbed from outside."""
    noise = np.exp(0.03 * generator.standard_normal(rounds))
    disturbed = np.where(generator.random(rounds) < 0.05, generator.uniform(1, 4, rounds), 1)
    return mean * noise * disturbed


@given(seeds, st.floats(0.1, 10))
@settings(max_examples=50)
def test_the_ratio_lies_in_its_interval(seed: int, ratio: float) -> None:
    generator = np.random.default_rng(seed)
    interval = ratio_interval(timings(generator, ratio), timings(generator, 1.0))
    assert interval.low <= interval.ratio <= interval.high


@given(seeds)
@settings(max_examples=20)
def test_exact_timings_give_exact_ratios(seed: int) -> None:
    values = np.random.default_rng(seed).uniform(1, 2, 20)
    interval = ratio_interval(3 * values, values)
    assert np.allclose([interval.low, interval.ratio, interval.high], 3)


def test_swapping_sides_inverts_the_interval() -> None:
    generator = np.random.default_rng(1)
    a, b = timings(generator, 1.3), timings(generator, 1.0)
    one, other = ratio_interval(a, b), ratio_interval(b, a)
    assert np.isclose(one.ratio * other.ratio, 1)
    assert np.isclose(one.low * other.high, 1, rtol=0.02)


def test_equal_kernels_are_rarely_called_faster() -> None:
    generator = np.random.default_rng(7)
    said = [
        ratio_interval(timings(generator, 1.0), timings(generator, 1.0), seed).verdict
        for seed in range(400)
    ]
    assert said.count("faster") <= 8
    assert said.count("slower") <= 8


def test_a_real_difference_is_found() -> None:
    generator = np.random.default_rng(7)
    said = [
        ratio_interval(timings(generator, 1.0), timings(generator, 1.1), seed).verdict
        for seed in range(200)
    ]
    assert said.count("slower") >= 190


def test_words_follow_the_interval() -> None:
    assert Interval(1.5, 1.2, 1.8).verdict == "faster"
    assert Interval(1.5, 0.9, 1.8).verdict == "even"
    assert Interval(0.5, 0.4, 0.6).verdict == "slower"
    assert Interval(1.02, 1.005, 1.03).verdict == "even"
