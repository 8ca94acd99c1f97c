"""Which tasks are granted the error of a plain sum."""

import pytest

from kernelmill.judge.plain_sums import longest_sum

GIVEN = [(37, 1009), (61,)]


@pytest.mark.parametrize(
    "signature",
    [
        ("_softmax.default",),
        ("mul.Tensor", "sum.dim_IntList"),
        ("binary_cross_entropy_with_logits.default",),
    ],
)
def test_tasks_that_add(signature: tuple[str, ...]) -> None:
    assert longest_sum(signature, GIVEN) == 1009


@pytest.mark.parametrize("signature", [("gelu.default",), ("logsumexp.default",), ()])
def test_tasks_that_add_nothing_or_take_the_logarithm(signature: tuple[str, ...]) -> None:
    assert longest_sum(signature, GIVEN) == 1
