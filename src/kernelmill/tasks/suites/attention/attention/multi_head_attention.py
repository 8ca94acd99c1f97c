"""A whole self-attention layer: one projection to queries, keys and values, attention per head,
and the output projection. Projections and attention compete for the time, and the heads sit
strided.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features, bias=False)
        self.out = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, features = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, features // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, features))


batch = 2
length = 256
features = 384
heads = 6

SCALES = {"gpu": {"batch": 8, "length": 1024, "features": 1024, "heads": 16}}
HIDDEN = [{"batch": 1, "length": 37}, {"batch": 3, "length": 101}, {"batch": 7, "length": 5}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, features)]


def get_init_inputs() -> list:
    return [features, heads]
