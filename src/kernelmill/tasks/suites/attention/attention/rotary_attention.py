"""Rotary embedding of queries and keys followed by causal attention. The rotation can be applied
while the tiles are loaded, which saves writing both tensors out again.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, max_length: int, head_dim: int) -> None:
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(max_length), frequencies)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)


batch = 2
heads = 8
length = 384
max_length = 512
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 16, "length": 2048, "max_length": 2048}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 257},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [max_length, head_dim]
