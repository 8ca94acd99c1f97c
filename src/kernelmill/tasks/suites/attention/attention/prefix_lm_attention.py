"""Attention that is free within a prefix and causal after it, where the length of the prefix is an
integer input per sequence. The shape of the mask is known only when the kernel runs.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, prefix: torch.Tensor
    ) -> torch.Tensor:
        positions = torch.arange(q.shape[-2], device=q.device)
        causal = positions[None, :] <= positions[:, None]
        in_prefix = positions[None, None, None, :] < prefix[:, None, None, None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=causal | in_prefix)


batch = 2
heads = 8
length = 384
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 3, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 211, "head_dim": 40},
    {"batch": 2, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    q, k, v = (torch.randn(batch, heads, length, head_dim) for _ in range(3))
    return [q, k, v, torch.randint(1, length, (batch,))]


def get_init_inputs() -> list:
    return []
