"""Attention within consecutive blocks of the sequence; no token sees another block. Many small
independent problems, each of which fits in cache or shared memory.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        shape = q.shape
        q, k, v = (x.unflatten(2, (-1, self.block)) for x in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(shape[-1])
        return (torch.softmax(scores, dim=-1) @ v).reshape(shape)


batch = 2
heads = 8
blocks = 24
block = 48
head_dim = 64

SCALES = {"gpu": {"batch": 4, "heads": 16, "blocks": 64, "block": 128}}
HIDDEN = [
    {"batch": 1, "heads": 3, "blocks": 1},
    {"batch": 1, "heads": 5, "blocks": 7, "head_dim": 40},
    {"batch": 3, "heads": 2, "blocks": 5},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, blocks * block, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [block]
