"""Conditioning: what honest rounding may do to an output, and what it does not excuse."""

import copy

import torch
from torch import nn

from kernelmill.judge.compare import (
    WELL_CONDITIONED,
    Conditioning,
    ExpectedOutput,
    OwnError,
    compare,
    derive_budget,
    make_budget,
)
from kernelmill.judge.conditioning import measure_conditioning
from kernelmill.judge.model_loading import outputs_in_float64

ROWS, COLUMNS = 64, 96


class Normalise(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(1, keepdim=True)
        return centred / torch.sqrt(centred.square().mean(1, keepdim=True) + 1e-5)


class Sign(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sign(x)


def with_constant_rows() -> torch.Tensor:
    x = torch.randn(ROWS, COLUMNS)
    x[::8] = 3.0
    return x


def normalised_by_a_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """The mean of a constant row is off by a unit in the last place."""
    mean = x.sum(1, keepdim=True) * (1 + torch.finfo(torch.float32).eps) / COLUMNS
    centred = x - mean
    return centred / torch.sqrt(centred.square().mean(1, keepdim=True) + 1e-5)


def expected(x: torch.Tensor, distribution: str) -> ExpectedOutput:
    wide = outputs_in_float64(Normalise(), [x], distribution)
    eager, exact = Normalise()(x).numpy(), wide.tensors[0].numpy()
    budget = make_budget("float32", eager, exact, 8.0, COLUMNS, wide.conditioning[0])
    return ExpectedOutput("float32", eager, exact, budget)


def test_a_rounded_mean_of_a_constant_row_is_right() -> None:
    x = with_constant_rows()
    ours = normalised_by_a_reciprocal(x).numpy()
    assert compare(ours, expected(x, "regimes")).error <= 1
    assert compare(ours, expected(x, "plain")).error > 1


def test_half_precision_is_wrong_all_the_same() -> None:
    x = with_constant_rows()
    for dtype in (torch.float16, torch.bfloat16):
        ours = Normalise()(x.to(dtype)).float().numpy()
        assert compare(ours, expected(x, "regimes")).error > 1


def test_rare_jumps_loosen_nothing() -> None:
    """A sign that depends on the last bit of an input says nothing about the other elements."""
    x = torch.randn(ROWS, COLUMNS)
    model = Sign()
    exact = model(x.double())
    exact[0, :5] *= -1  # as if the inputs had been rounded across zero there
    (found,) = measure_conditioning(model, copy.deepcopy(model), [x], [exact], "shifted")
    assert found == WELL_CONDITIONED


def test_conditioning_adds_nothing_where_eager_errs_more() -> None:
    own = OwnError(rms=1e-6, worst=1e-5, scale=1.0, elements=1000)
    strict = derive_budget("float32", own, 8.0)
    assert derive_budget("float32", own, 8.0, 1, Conditioning(1e-7, 1e-7)) == strict
    assert derive_budget("float32", own, 8.0, 1, Conditioning(1e-5, 1e-4)).norm > strict.norm
