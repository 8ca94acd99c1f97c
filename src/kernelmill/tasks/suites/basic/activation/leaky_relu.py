"""Leaky ReLU: positive values pass, negative ones are multiplied by a fixed slope. Bandwidth bound
with one select per element."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(x, self.slope)


batch = 1456
features = 4096
slope = 0.05

SCALES = {"gpu": {"batch": 8192, "features": 16384}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, features)]


def get_init_inputs() -> list:
    return [slope]
