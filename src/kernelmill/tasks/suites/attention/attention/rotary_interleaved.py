"""Rotary position embedding in the interleaved layout, with positions given per token as integers.
Adjacent channels form a pair, and the angles have to be looked up.
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

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        cos = self.cos[positions].unsqueeze(2)
        sin = self.sin[positions].unsqueeze(2)
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
        return turned.flatten(-2)


batch = 4
length = 512
max_length = 1024
heads = 12
head_dim = 64

SCALES = {"gpu": {"batch": 8, "length": 4096, "max_length": 8192, "heads": 32, "head_dim": 128}}
HIDDEN = [
    {"batch": 1, "length": 37, "heads": 3},
    {"batch": 3, "length": 131, "heads": 5},
    {"batch": 7, "length": 1, "heads": 7},
]


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(batch, length, heads, head_dim)
    return [x, torch.randint(0, max_length, (batch, length))]


def get_init_inputs() -> list:
    return [max_length, head_dim]
