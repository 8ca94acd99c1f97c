"""A transformer's gated feed-forward block: RMS norm, two projections joined by a SiLU gate, a
projection back, and the input added. Norm before, gate between, residual after the products."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(features, eps=1e-6)
        self.gate = nn.Linear(features, hidden, bias=False)
        self.up = nn.Linear(features, hidden, bias=False)
        self.down = nn.Linear(hidden, features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


tokens = 384
features = 320
hidden = 832

SCALES = {"gpu": {"tokens": 8192, "features": 1024, "hidden": 2816}}
HIDDEN = [{"tokens": 1}, {"tokens": 29}, {"tokens": 211}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, features)]


def get_init_inputs() -> list:
    return [features, hidden]
