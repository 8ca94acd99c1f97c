"""What counts as right: properties of the comparison."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kernelmill.judge.compare import ExpectedOutput, compare, make_budget

TOLERANCE = 16.0
shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=40)


def expected_for(exact: np.ndarray, dtype: str = "float32") -> ExpectedOutput:
    eager = exact.astype(dtype)
    return ExpectedOutput(dtype, eager, exact, make_budget(dtype, eager, exact, TOLERANCE))


def normal(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@given(shapes, st.integers(0, 2**32 - 1))
def test_the_reference_itself_is_right(shape: tuple[int, ...], seed: int) -> None:
    expected = expected_for(normal(shape, seed))
    assert compare(expected.eager, expected).error <= 1


@given(shapes, st.integers(0, 2**32 - 1), st.floats(-3, 3))
def test_a_few_units_in_the_last_place_are_right(
    shape: tuple[int, ...], seed: int, ulps: float
) -> None:
    expected = expected_for(normal(shape, seed))
    actual = (expected.exact * (1 + ulps * 2.0**-23)).astype(np.float32)
    assert compare(actual, expected).error <= 1


@pytest.mark.parametrize("lower", [np.float16])
@given(seed=st.integers(0, 2**32 - 1))
def test_lower_precision_is_wrong(lower: type, seed: int) -> None:
    expected = expected_for(normal((64, 64), seed))
    actual = expected.eager.astype(lower).astype(np.float32)
    assert compare(actual, expected).error > 1


@given(shapes, st.integers(0, 2**32 - 1), st.data())
def test_one_wrong_element_is_found_and_located(
    shape: tuple[int, ...], seed: int, data: st.DataObject
) -> None:
    expected = expected_for(normal(shape, seed))
    position = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    actual = expected.eager.copy()
    actual[position] += 0.5
    result = compare(actual, expected)
    assert result.error > 1
    assert result.wrong == 1
    assert result.box == "[" + ", ".join(f"{i}:{i + 1}" for i in position) + "]"


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_not_finite_is_no_wildcard(special: float) -> None:
    expected = expected_for(normal((8, 8), 0))
    actual = expected.eager.copy()
    actual[3, 4] = special
    result = compare(actual, expected)
    assert result.error > 1
    assert "3:4, 4:5" in result.box


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_where_the_reference_is_not_finite_the_same_must_stand(special: float) -> None:
    exact = normal((8, 8), 0)
    exact[3, 4] = special
    expected = expected_for(exact)
    assert compare(expected.eager, expected).error <= 1
    for other in (0.0, np.nan, np.inf, -np.inf):
        if other != special and not (np.isnan(other) and np.isnan(special)):
            actual = expected.eager.copy()
            actual[3, 4] = other
            assert compare(actual, expected).error > 1


def test_float32_overflow_counts_as_the_reference_has_it() -> None:
    exact = np.array([1.0, 1e300])
    with np.errstate(over="ignore"):
        expected = expected_for(exact)
    assert np.isinf(expected.eager[1])
    assert compare(expected.eager, expected).error <= 1
    assert compare(np.array([1.0, 3e38], np.float32), expected).error > 1


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_zeros_constants_and_other_answers_are_wrong(seed: int) -> None:
    expected = expected_for(normal((40, 50), seed))
    for cheat in (
        np.zeros_like(expected.eager),
        np.full_like(expected.eager, expected.exact.mean()),
        normal((40, 50), seed + 1).astype(np.float32),
    ):
        assert compare(cheat, expected).error > 1


def test_all_zero_outputs_demand_zeros() -> None:
    expected = expected_for(np.zeros((4, 4)))
    assert compare(expected.eager, expected).error <= 1
    assert compare(expected.eager + np.float32(1e-30), expected).error > 1


def test_discrete_outputs_are_exact_unless_rounding_decides() -> None:
    exact = np.arange(100)
    same = ExpectedOutput("int64", exact, exact, make_budget("int64", exact, exact, TOLERANCE))
    off = exact.copy()
    off[7] = 0
    assert compare(exact, same).error == 0
    assert compare(off, same).error > 1
    rounded = ExpectedOutput("int64", off, exact, make_budget("int64", off, exact, TOLERANCE))
    assert compare(off, rounded).error <= 1


def test_bfloat16_is_compared_in_its_own_precision() -> None:
    exact = normal((64,), 0)
    bits = (exact.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    expected = ExpectedOutput(
        "bfloat16", bits, exact, make_budget("bfloat16", bits, exact, TOLERANCE)
    )
    assert compare(bits, expected).error <= 1
    assert compare(np.zeros_like(bits), expected).error > 1


def with_sums(eager: np.ndarray, exact: np.ndarray, terms: int) -> ExpectedOutput:
    return ExpectedOutput("float32", eager, exact, make_budget("float32", eager, exact, 8.0, terms))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 64), st.integers(2, 4096), st.integers(0, 2**32 - 1), st.booleans())
def test_a_plain_running_sum_is_right(rows: int, terms: int, seed: int, positive: bool) -> None:
    """Against an eager that adds in double."""
    values = normal((rows, terms), seed).astype(np.float32)
    values = np.abs(values) if positive else values
    exact = np.cumsum(values, axis=1, dtype=np.float64)
    plain = np.cumsum(values, axis=1, dtype=np.float32)
    assert compare(plain, with_sums(exact.astype(np.float32), exact, terms)).error <= 1


@settings(deadline=None, max_examples=10)
@given(st.sampled_from([16, 768, 4096]), st.integers(0, 2**32 - 1))
def test_split_bfloat16_products_are_wrong(terms: int, seed: int) -> None:
    a, b = (normal(shape, seed).astype(np.float32) for shape in ((96, terms), (terms, 96)))
    exact = a.astype(np.float64) @ b
    parts = [(bfloat16(m), bfloat16(m - bfloat16(m))) for m in (a, b)]
    (ah, al), (bh, bl) = ([p.astype(np.float64) for p in pair] for pair in parts)
    split = (ah @ bh + (ah @ bl + al @ bh)).astype(np.float32)
    assert compare(split, with_sums(a @ b, exact, terms)).error > 1


def bfloat16(values: np.ndarray) -> np.ndarray:
    bits = values.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32)
