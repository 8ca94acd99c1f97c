"""Batched products of activations with a matrix per batch entry, RMS norm of the rows, and a
residual. Many small products, each with a row reduction at its end."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(features, eps=eps)

    def forward(self, a: torch.Tensor, b: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return residual + self.norm(torch.bmm(a, b))


batch = 24
rows = 96
depth = 256
features = 256
eps = 1e-6

SCALES = {"gpu": {"batch": 128, "rows": 512, "depth": 512, "features": 1024}}
HIDDEN = [
    {"batch": 3, "rows": 17},
    {"batch": 11, "rows": 53, "depth": 61},
    {"batch": 1, "rows": 89},
]


def get_inputs() -> list[torch.Tensor]:
    return [
        torch.randn(batch, rows, depth),
        torch.randn(batch, depth, features) / depth**0.5,
        torch.randn(batch, rows, features),
    ]


def get_init_inputs() -> list:
    return [features, eps]
