"""Very many tiny matrix products. Library routines pay a large overhead per product; a direct
kernel need not."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


batch = 40000
size = 8

SCALES = {"gpu": {"batch": 1000000, "size": 8}}
HIDDEN = [{"batch": 11, "size": 8}, {"batch": 1009, "size": 7}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, size, size), torch.randn(batch, size, size)]


def get_init_inputs() -> list:
    return []
