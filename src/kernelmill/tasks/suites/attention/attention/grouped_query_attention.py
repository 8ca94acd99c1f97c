"""Causal attention in which a group of query heads shares one head of keys and values. Loading the
shared keys once per group saves most of the memory traffic.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


batch = 2
heads = 12
kv_heads = 3
length = 384
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 32, "kv_heads": 8, "length": 2048, "head_dim": 128}}
HIDDEN = [
    {"batch": 1, "heads": 6, "kv_heads": 3, "length": 37},
    {"batch": 3, "heads": 10, "kv_heads": 2, "length": 131},
    {"batch": 1, "length": 257, "head_dim": 40},
]


def get_inputs() -> list[torch.Tensor]:
    q = torch.randn(batch, heads, length, head_dim)
    k, v = (torch.randn(batch, kv_heads, length, head_dim) for _ in range(2))
    return [q, k, v]


def get_init_inputs() -> list:
    return []
