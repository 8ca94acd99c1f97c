"""Attention whose heads are mixed by learned matrices, once before and once after the softmax. The
mixing couples all heads, so they can no longer be worked on one by one.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.before = nn.Parameter(torch.randn(heads, heads) / math.sqrt(heads))
        self.after = nn.Parameter(torch.randn(heads, heads) / math.sqrt(heads))

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = torch.einsum("bhqk,hg->bgqk", scores, self.before)
        weights = torch.softmax(scores, dim=-1)
        weights = torch.einsum("bhqk,hg->bgqk", weights, self.after)
        return weights @ v


batch = 2
heads = 6
length = 224
head_dim = 64

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 1536}}
HIDDEN = [
    {"batch": 1, "length": 37},
    {"batch": 1, "length": 181, "head_dim": 40},
    {"batch": 3, "length": 101},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [heads]
