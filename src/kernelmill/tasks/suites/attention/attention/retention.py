"""Retention: causal scores without a softmax, damped by a power of the distance with one rate per
head. The damping factors into a part of the query and a part of the key, so it can also be done in
chunks.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        exponents = torch.arange(heads, dtype=torch.float32) * (-5.0 / heads) - 3.0
        self.register_buffer("decay", 1.0 - torch.exp2(exponents))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(q.shape[-2], device=q.device)
        distance = positions[:, None] - positions[None, :]
        damping = self.decay[:, None, None] ** distance.clamp(min=0)
        damping = damping.masked_fill(distance < 0, 0.0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return (scores * damping) @ v


batch = 2
heads = 8
length = 256
head_dim = 64

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 1, "length": 37},
    {"batch": 1, "length": 211, "head_dim": 40},
    {"batch": 3, "length": 101},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [heads]
