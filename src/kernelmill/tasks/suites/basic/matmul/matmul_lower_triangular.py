"""Lower triangle of A times a full matrix B. Half of the multiplications are by zero and can be
skipped."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(a) @ b


size = 896
cols = 768

SCALES = {"gpu": {"size": 4096, "cols": 4096}}
HIDDEN = [{"size": 31, "cols": 7}, {"size": 257, "cols": 401}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(size, size), torch.randn(size, cols)]


def get_init_inputs() -> list:
    return []
