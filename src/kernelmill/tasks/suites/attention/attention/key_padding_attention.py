"""Attention over padded sequences: a boolean mask per sequence says which keys are real. The
number of keys differs between the sequences of a batch, and masked keys must not leak into the
softmax.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keep: torch.Tensor
    ) -> torch.Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~keep[:, None, None, :], float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


batch = 4
heads = 4
length = 256
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 3, "heads": 3, "length": 37},
    {"batch": 2, "heads": 5, "length": 211, "head_dim": 40},
    {"batch": 5, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    q, k, v = (torch.randn(batch, heads, length, head_dim) for _ in range(3))
    lengths = torch.randint(length // 4 + 1, length + 1, (batch, 1))
    return [q, k, v, torch.arange(length) < lengths]


def get_init_inputs() -> list:
    return []
