"""Unbiased standard deviation along the middle, strided dimension of columns with different spread
and offset."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.std(x, dim=self.dim)


batch = 16
rows = 256
cols = 512
dim = 1

SCALES = {"gpu": {"batch": 64, "rows": 2048, "cols": 2048}}
HIDDEN = [{"batch": 1, "rows": 3, "cols": 1009}, {"batch": 7, "rows": 211, "cols": 13}]


def get_inputs() -> list[torch.Tensor]:
    scale = 0.2 + torch.rand(batch, 1, cols)
    offset = torch.randn(batch, 1, cols)
    return [scale * torch.randn(batch, rows, cols) + offset]


def get_init_inputs() -> list:
    return [dim]
