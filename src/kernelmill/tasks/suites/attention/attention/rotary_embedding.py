"""Rotary position embedding in the half-split layout: each pair of a channel of the first half and
one of the second is turned by an angle that grows with the position. Pure memory traffic once it
is fused.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, max_length: int, head_dim: int) -> None:
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(max_length), frequencies)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cos = self.cos[: x.shape[1], None, :]
        sin = self.sin[: x.shape[1], None, :]
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


batch = 4
length = 768
max_length = 768
heads = 12
head_dim = 64

SCALES = {"gpu": {"batch": 8, "length": 4096, "max_length": 4096, "heads": 32, "head_dim": 128}}
HIDDEN = [
    {"batch": 1, "length": 37, "heads": 3},
    {"batch": 3, "length": 131, "heads": 5},
    {"batch": 7, "length": 5, "heads": 7},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, heads, head_dim)]


def get_init_inputs() -> list:
    return [max_length, head_dim]
