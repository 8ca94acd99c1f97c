"""Attention on the cosine of the angle between query and key, with a learned temperature per head
that is kept below a ceiling. The norms of both sides enter every score.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, heads: int, ceiling: float) -> None:
        super().__init__()
        self.ceiling = ceiling
        self.log_scale = nn.Parameter(math.log(10.0) + 0.5 * torch.randn(heads))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scale = torch.exp(self.log_scale).clamp(max=self.ceiling)
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        return torch.softmax(scores * scale[:, None, None], dim=-1) @ v


batch = 2
heads = 8
length = 320
head_dim = 64
ceiling = 100.0

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 1, "length": 37},
    {"batch": 1, "length": 211, "head_dim": 40},
    {"batch": 3, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [heads, ceiling]
