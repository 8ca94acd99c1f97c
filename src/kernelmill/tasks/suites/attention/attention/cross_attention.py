"""Queries from one sequence attend to another of different length and width, with all four
projections. The two lengths differ, so nothing may assume a square score matrix.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, context_features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(features, features, bias=False)
        self.key = nn.Linear(context_features, features, bias=False)
        self.value = nn.Linear(context_features, features)
        self.out = nn.Linear(features, features)

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        q = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k = self.key(context).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        v = self.value(context).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))


batch = 2
length = 384
context_length = 77
features = 320
context_features = 512
heads = 5

SCALES = {
    "gpu": {
        "batch": 8,
        "length": 4096,
        "context_length": 160,
        "features": 640,
        "context_features": 768,
        "heads": 10,
    }
}
HIDDEN = [
    {"batch": 1, "length": 37, "context_length": 131},
    {"batch": 3, "length": 101, "context_length": 7},
    {"batch": 1, "length": 1, "context_length": 53},
]


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(batch, length, features)
    context = torch.randn(batch, context_length, context_features)
    return [x, context]


def get_init_inputs() -> list:
    return [features, context_features, heads]
