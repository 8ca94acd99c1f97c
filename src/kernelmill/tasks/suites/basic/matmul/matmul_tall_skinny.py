"""A tall, narrow matrix times a small square one. Almost all the work is streaming the tall
operand."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


rows = 65536
inner = 64
cols = 64

SCALES = {"gpu": {"rows": 1048576, "inner": 128, "cols": 128}}
HIDDEN = [{"rows": 7, "inner": 64}, {"rows": 4099, "inner": 61, "cols": 53}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
