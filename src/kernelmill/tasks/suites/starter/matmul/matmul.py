"""Product of two dense matrices. Reaching a good share of the peak takes register tiles, cache
blocks and packed panels.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


m = 768
k = 768
n = 768

SCALES = {"gpu": {"m": 4096, "k": 4096, "n": 4096}}
HIDDEN = [{"m": 61, "k": 131, "n": 97}, {"m": 1, "k": 769}, {"m": 257, "k": 521, "n": 383}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(m, k), torch.randn(k, n)]


def get_init_inputs() -> list:
    return []
