"""Attention with a learned bias per head and relative distance, clipped at both ends. The bias is
gathered from a small table that stays in cache; eager code builds it for every pair.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.bias = nn.Parameter(torch.randn(heads, 2 * reach + 1))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(q.shape[-2], device=q.device)
        columns = torch.arange(k.shape[-2], device=q.device)
        distance = (columns[None, :] - rows[:, None]).clamp(-self.reach, self.reach)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores + self.bias[:, distance + self.reach]
        return torch.softmax(scores, dim=-1) @ v


batch = 2
heads = 8
length = 288
head_dim = 64
reach = 64

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 2048, "reach": 128}}
HIDDEN = [
    {"batch": 1, "length": 71},
    {"batch": 1, "length": 211, "head_dim": 40},
    {"batch": 3, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [heads, reach]
