"""Causal windowed attention with a learned sink per head: an extra logit that takes part in the
softmax but carries no value. The denominator holds a term that belongs to no key.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.sinks = nn.Parameter(torch.randn(heads) + 2)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(q.shape[-2], device=q.device)
        distance = positions[:, None] - positions[None, :]
        hidden = (distance < 0) | (distance >= self.window)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(hidden, float("-inf"))
        sinks = self.sinks[None, :, None, None].expand(*scores.shape[:-1], 1)
        weights = torch.softmax(torch.cat((scores, sinks), dim=-1), dim=-1)
        return weights[..., :-1] @ v


batch = 2
heads = 8
length = 288
head_dim = 64
window = 64

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 2048, "window": 128}}
HIDDEN = [
    {"batch": 1, "length": 37},
    {"batch": 1, "length": 211, "head_dim": 40},
    {"batch": 3, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [heads, window]
