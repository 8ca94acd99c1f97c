"""Outer product of two vectors. No input traffic to speak of: the kernel is a pure stream of
writes."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.outer(a, b)


rows = 3400
cols = 3400

SCALES = {"gpu": {"rows": 16384, "cols": 16384}}
HIDDEN = [{"rows": 3, "cols": 1009}, {"rows": 1021, "cols": 769}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows), torch.randn(cols)]


def get_init_inputs() -> list:
    return []
