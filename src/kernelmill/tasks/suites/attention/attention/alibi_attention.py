"""Causal attention with ALiBi: a penalty on every score grows linearly with the distance, with its
own slope per head. The bias is a function of the indices and need not be read from memory.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        exponents = torch.arange(1, heads + 1, dtype=torch.float32) * (-8.0 / heads)
        self.register_buffer("slopes", torch.exp2(exponents))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(q.shape[-2], device=q.device)
        distance = positions[:, None] - positions[None, :]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores - self.slopes[:, None, None] * distance
        scores = scores.masked_fill(distance < 0, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


batch = 2
heads = 8
length = 256
head_dim = 64

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 1, "length": 37},
    {"batch": 1, "length": 211, "head_dim": 40},
    {"batch": 3, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [heads]
