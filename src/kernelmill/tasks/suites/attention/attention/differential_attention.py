"""The difference of two attention maps, the second scaled by a learned factor, applied to values
twice as wide and RMS-normalised per head. Two softmaxes with their own statistics share one pass
over the values.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, head_dim: int, base: float) -> None:
        super().__init__()
        self.base = base
        self.first_query = nn.Parameter(0.2 * torch.randn(head_dim))
        self.first_key = nn.Parameter(0.2 * torch.randn(head_dim))
        self.second_query = nn.Parameter(0.2 * torch.randn(head_dim))
        self.second_key = nn.Parameter(0.2 * torch.randn(head_dim))
        self.norm = nn.RMSNorm(2 * head_dim, eps=1e-5)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        first, second = torch.softmax(scores, dim=-1).chunk(2, dim=1)
        factor = (
            torch.exp(torch.dot(self.first_query, self.first_key))
            - torch.exp(torch.dot(self.second_query, self.second_key))
            + self.base
        )
        return self.norm((first - factor * second) @ v) * (1 - self.base)


batch = 2
heads = 4
length = 320
head_dim = 32
base = 0.6

SCALES = {"gpu": {"batch": 2, "heads": 8, "length": 2048, "head_dim": 64}}
HIDDEN = [
    {"batch": 1, "heads": 1, "length": 37},
    {"batch": 1, "heads": 5, "length": 211},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    q, k = (torch.randn(batch, 2 * heads, length, head_dim) for _ in range(2))
    return [q, k, torch.randn(batch, heads, length, 2 * head_dim)]


def get_init_inputs() -> list:
    return [head_dim, base]
