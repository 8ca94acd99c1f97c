"""A matrix product whose result is scaled by one factor per row and one per column, shifted by a
bias, and passed through GELU: the tail of a dequantising product."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(depth, columns) / depth**0.5)
        self.column_scale = nn.Parameter(torch.rand(columns) + 0.5)
        self.bias = nn.Parameter(0.5 * torch.randn(columns))

    def forward(self, x: torch.Tensor, row_scale: torch.Tensor) -> torch.Tensor:
        return F.gelu((x @ self.weight) * row_scale * self.column_scale + self.bias)


rows = 768
depth = 512
columns = 768

SCALES = {"gpu": {"rows": 16384, "depth": 1024, "columns": 4096}}
HIDDEN = [{"rows": 1}, {"rows": 53}, {"rows": 499}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, depth), torch.rand(rows, 1) + 0.5]


def get_init_inputs() -> list:
    return [depth, columns]
