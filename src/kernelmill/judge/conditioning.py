"""Conditioning of a reference: how far its outputs move when its inputs and parameters are rounded.

Used inside sandboxes only.
"""

from typing import Any

import torch
from torch import nn

from kernelmill.judge.compare import WELL_CONDITIONED, Conditioning
from kernelmill.records.tensors import EPSILON
from kernelmill.tasks.module import tensors_in
from kernelmill.tensors.torch_side import dtype_name

ILL_CONDITIONED = frozenset(
    {"shifted", "hollow", "regimes", "clustered", "impulse", "ties", "alike", "skewed", "extreme"}
)
"""Distributions with distant means, with constant, empty or unbalanced rows and with tensors that
are alike, in which differences cancel: the mean of a constant row that is off by one unit in the
last place is a large number once it is divided by the row's deviation. A reference that happens to
be exact there does not bind a kernel to that."""
_WITHOUT_EQUAL_TERMS = frozenset({"shifted"})

_QUANTILE = 0.99
_SAMPLE = 1 << 16
_MOST_OVER_QUANTILE = 8.0
"""What moves further is a jump (of a sign, of an index) and says nothing about other elements."""


def measure_conditioning(
    model: nn.Module,
    wide: nn.Module,
    inputs: list[Any],
    exact: list[torch.Tensor],
    distribution: str,
) -> list[Conditioning]:
    """The movement of every output of `wide`, which is `model` in float64. Changes `wide`.

    Outputs of `wide` on rounded inputs are changed as well: it must not keep them.
    """
    own = (*model.parameters(), *model.buffers())
    for before, parameter in zip(own, (*wide.parameters(), *wide.buffers()), strict=True):
        parameter.data = _rounded(before.data)
    moved = tensors_in(wide(*_rounded(inputs)))
    if len(moved) > 1:  # one may be a part of another
        moved = [tensor.clone() for tensor in moved]
    equal_terms = distribution not in _WITHOUT_EQUAL_TERMS
    return [_distance(*pair, equal_terms) for pair in zip(moved, exact, strict=True)]


def _rounded(value: Any) -> Any:
    """In float64, with every element moved by one unit of the precision it had."""
    if isinstance(value, list | tuple):
        return type(value)(_rounded(item) for item in value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    step = EPSILON[dtype_name(value.dtype)]
    signs = torch.randint_like(value, 0, 2, dtype=torch.float64).mul_(2).sub_(1)
    return signs.mul_(step).add_(1).mul_(value)


def _distance(moved: torch.Tensor, exact: torch.Tensor, equal_terms: bool) -> Conditioning:
    if not exact.is_floating_point() or exact.numel() == 0:
        return WELL_CONDITIONED
    # In place, since tensors of a device's size have no room for copies.
    distance = torch.nan_to_num_(moved.contiguous().sub_(exact).abs_().view(-1), 0.0, 0.0)
    chosen = torch.randint(distance.numel(), (_SAMPLE,), device=distance.device)
    high = float(torch.quantile(distance[chosen], _QUANTILE))
    if high == 0:
        return Conditioning(equal_terms=equal_terms)
    multiples = distance.div_(high).clamp_(max=_MOST_OVER_QUANTILE)  # squares stay finite
    return Conditioning(high * float(multiples.square_().mean().sqrt()), high, equal_terms)
