"""Product with the right operand stored transposed, A @ B.T, the layout of a linear layer's
weight."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b.T


rows = 896
inner = 1024
cols = 640

SCALES = {"gpu": {"rows": 4096, "inner": 4096, "cols": 2048}}
HIDDEN = [{"rows": 37, "inner": 19, "cols": 53}, {"rows": 251, "inner": 601, "cols": 127}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(cols, inner)]


def get_init_inputs() -> list:
    return []
