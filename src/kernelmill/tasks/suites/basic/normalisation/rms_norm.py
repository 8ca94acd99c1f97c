"""Root-mean-square normalisation over the last dimension with a learned scale. Eager PyTorch runs
several passes, one read and one write suffice."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


batch = 8
length = 320
features = 1024
eps = 1e-6

SCALES = {"gpu": {"batch": 16, "length": 2048, "features": 4096}}
HIDDEN = [{"batch": 1, "length": 1}, {"batch": 3, "length": 37}, {"batch": 7, "length": 101}]


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(batch, length, 1)
    return [scale * torch.randn(batch, length, features)]


def get_init_inputs() -> list:
    return [features, eps]
