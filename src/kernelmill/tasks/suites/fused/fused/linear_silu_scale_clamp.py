"""A linear layer, SiLU, a learned factor per output and a clamp to a fixed range. Three elementwise
passes that cost a full sweep of memory each unless they are fused."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, low: float, high: float) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.randn(out_features) + 2.0)
        self.low = low
        self.high = high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(F.silu(self.linear(x)) * self.scale, self.low, self.high)


batch = 1024
in_features = 256
out_features = 1024
low = -0.4
high = 1.5

SCALES = {"gpu": {"batch": 16384, "in_features": 1024, "out_features": 4096}}
HIDDEN = [{"batch": 3}, {"batch": 61}, {"batch": 911}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_features)]


def get_init_inputs() -> list:
    return [in_features, out_features, low, high]
