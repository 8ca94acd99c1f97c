"""A four-dimensional tensor times one shared matrix over the last dimension. The leading dimensions
should collapse into one product."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bijl,lk->bijk", x, weight)


batch = 4
outer = 32
middle = 64
inner = 192
cols = 160

SCALES = {"gpu": {"batch": 16, "outer": 128, "middle": 64, "inner": 512, "cols": 512}}
HIDDEN = [
    {"batch": 1, "outer": 3, "middle": 5},
    {"batch": 2, "outer": 13, "middle": 17, "inner": 101, "cols": 59},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, outer, middle, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
