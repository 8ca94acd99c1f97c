"""Causal attention in which a query sees only the keys whose distance is a multiple of a stride.
The mask is regular: regrouping the sequence by remainder turns it into small dense problems.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, stride: int) -> None:
        super().__init__()
        self.stride = stride

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(q.shape[-2], device=q.device)
        distance = positions[:, None] - positions[None, :]
        visible = (distance >= 0) & (distance % self.stride == 0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~visible, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


batch = 2
heads = 8
length = 256
head_dim = 64
stride = 8

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 2048, "stride": 16}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 211, "head_dim": 40},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [stride]
