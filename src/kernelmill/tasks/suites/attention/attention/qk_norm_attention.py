"""Attention whose queries and keys are first RMS-normalised per head with learned gains. A
reduction over every row comes before the first matrix product and can ride along with the load.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.q_norm = nn.RMSNorm(head_dim, eps=1e-6)
        self.k_norm = nn.RMSNorm(head_dim, eps=1e-6)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v)


batch = 2
heads = 8
length = 320
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 257},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [head_dim]
