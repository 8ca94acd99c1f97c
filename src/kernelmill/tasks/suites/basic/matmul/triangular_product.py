"""Product of the lower triangles of two matrices, itself lower triangular. Only a sixth of the full
work is needed."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) @ torch.tril(b)


size = 832

SCALES = {"gpu": {"size": 4096}}
HIDDEN = [{"size": 31}, {"size": 257}, {"size": 509}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(size, size), torch.randn(size, size)]


def get_init_inputs() -> list:
    return []
