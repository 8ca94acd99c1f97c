"""Euclidean length along the last dimension. A sum of squares with one square root per row."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vector_norm(x, dim=self.dim)


batch = 48
rows = 256
cols = 896
dim = 2

SCALES = {"gpu": {"batch": 64, "rows": 2048, "cols": 2048}}
HIDDEN = [
    {"batch": 1, "rows": 3, "cols": 1009},
    {"batch": 7, "rows": 211, "cols": 13},
    {"batch": 5, "rows": 37, "cols": 101},
]


def get_inputs() -> list[torch.Tensor]:
    scale = 0.2 + torch.rand(batch, rows, 1)
    return [scale * torch.randn(batch, rows, cols)]


def get_init_inputs() -> list:
    return [dim]
