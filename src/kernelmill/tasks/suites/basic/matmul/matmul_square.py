"""Product of two square matrices. The classic compute-bound kernel."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


size = 896

SCALES = {"gpu": {"size": 4096}}
HIDDEN = [{"size": 64}, {"size": 127}, {"size": 509}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(size, size), torch.randn(size, size)]


def get_init_inputs() -> list:
    return []
