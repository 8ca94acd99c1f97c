"""What a refusal says, and when foreign code is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelmill.judge.compare import Comparison
from kernelmill.judge.correctness import TrialRefused, check_comparison
from kernelmill.judge.foreign_compute import foreign_compute
from kernelmill.records.verdict import Profile

shares = st.floats(0, 1)
milliseconds = st.floats(0.001, 1000)


@pytest.mark.parametrize(("wrong", "hinted"), [(100, True), (10, False)])
def test_nearly_everything_wrong_hints_at_stale_parameters(wrong: int, hinted: bool) -> None:
    with pytest.raises(TrialRefused) as refused:
        check_comparison(0, Comparison(9.0, wrong, 1.0, 1.0, "[0:100]"), (100,), 1, False)
    assert ("__init__" in refused.value.feedback.hint) == hinted


@given(shares, milliseconds)
def test_no_foreign_time_is_no_refusal(kernel: float, baseline: float) -> None:
    assert foreign_compute(Profile(20, kernel, 0.0, 0.0), baseline) is None


@pytest.mark.parametrize(
    ("kernel", "milliseconds", "idle"), [(0.02, 0.5, True), (0.1, 0.5, False), (0.02, 0.01, False)]
)
def test_a_kernel_has_to_work_beside_the_framework(
    kernel: float, milliseconds: float, idle: bool
) -> None:
    refusal = foreign_compute(Profile(96, kernel, 0.0, 0.0, 0.9, milliseconds), 1.0)
    assert (refusal is not None) == idle


@given(milliseconds, milliseconds)
def test_foreign_time_like_the_baselines_is_refused(baseline: float, kernel: float) -> None:
    """However much the kernel itself computes, and however short a call is."""
    share = baseline / (baseline + kernel)
    refusal = foreign_compute(Profile(20, 1 - share, share, baseline), baseline)
    assert (refusal is not None) == (baseline > 0.02)


@given(shares, shares, milliseconds, milliseconds, st.floats(1, 10))
def test_more_foreign_time_is_no_better(
    kernel: float, foreign: float, used: float, baseline: float, factor: float
) -> None:
    less = foreign_compute(Profile(20, kernel, foreign, used), baseline)
    more = foreign_compute(Profile(20, kernel, foreign, used * factor), baseline)
    assert less is None or more is not None


def test_a_hidden_shape_is_not_told() -> None:
    comparison = Comparison(9.0, 30, 1.0, 1.0, "[0:3, 900:977]")
    with pytest.raises(TrialRefused) as refused:
        check_comparison(0, comparison, (3, 977), 1, True)
    text = refused.value.feedback.text()
    assert "977" not in text and "1% of its elements" in text and "[0-100%, 92-100%]" in text
