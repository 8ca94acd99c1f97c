"""Running sum along the middle dimension of a 3D tensor. Neighbouring scans are adjacent in memory,
so they should advance together."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, dim=1)


batch = 16
length = 512
channels = 512

SCALES = {"gpu": {"batch": 16, "length": 2048, "channels": 2048}}
HIDDEN = [{"batch": 1, "length": 101, "channels": 7}, {"batch": 3, "length": 37, "channels": 61}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, channels)]


def get_init_inputs() -> list:
    return []
