"""Attention without a softmax: a positive feature map of queries and keys lets the keys be summed
into one small matrix first. The cost is linear in the length, and the map can be fused into both
products.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q = F.elu(q) + 1
        k = F.elu(k) + 1
        summary = k.transpose(-2, -1) @ v
        normaliser = q @ k.sum(dim=-2).unsqueeze(-1)
        return (q @ summary) / normaliser


batch = 2
heads = 8
length = 1024
head_dim = 64

SCALES = {"gpu": {"batch": 8, "heads": 16, "length": 8192}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 307, "head_dim": 40},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return []
