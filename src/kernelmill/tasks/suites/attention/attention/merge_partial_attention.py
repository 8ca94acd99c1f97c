"""Puts together two attention results over disjoint sets of keys, each weighted by the logarithm
of its softmax denominator. The second half of split decoding: memory bound, with a stable two-way
softmax.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self,
        first: torch.Tensor,
        first_lse: torch.Tensor,
        second: torch.Tensor,
        second_lse: torch.Tensor,
    ) -> torch.Tensor:
        total = torch.logaddexp(first_lse, second_lse)
        first_share = torch.exp(first_lse - total).unsqueeze(-1)
        second_share = torch.exp(second_lse - total).unsqueeze(-1)
        return first_share * first + second_share * second


batch = 4
heads = 24
length = 512
head_dim = 64

SCALES = {"gpu": {"batch": 8, "heads": 16, "length": 4096, "head_dim": 128}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 307, "head_dim": 40},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    first, second = (torch.randn(batch, heads, length, head_dim) for _ in range(2))
    first_lse, second_lse = (torch.randn(batch, heads, length) for _ in range(2))
    return [first, first_lse, second, second_lse]


def get_init_inputs() -> list:
    return []
