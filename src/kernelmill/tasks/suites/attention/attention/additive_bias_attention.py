"""Attention with an arbitrary bias per pair of positions, given as an input and shared by the
batch. The bias is as large as a score matrix, so it has to be streamed along with the tiles.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


batch = 2
heads = 6
length = 320
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 257, "head_dim": 40},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    q, k, v = (torch.randn(batch, heads, length, head_dim) for _ in range(3))
    return [q, k, v, torch.randn(heads, length, length)]


def get_init_inputs() -> list:
    return []
