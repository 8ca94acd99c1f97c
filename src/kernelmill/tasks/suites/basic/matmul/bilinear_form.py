"""Quadratic form x.T W y for every row pair of a batch. Best as one matrix product with the row
sums taken on the fly."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features) / features**0.5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sum((x @ self.weight) * y, dim=1)


batch = 896
features = 896

SCALES = {"gpu": {"batch": 8192, "features": 2048}}
HIDDEN = [{"batch": 1}, {"batch": 37}, {"batch": 211}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, features), torch.randn(batch, features)]


def get_init_inputs() -> list:
    return [features]
