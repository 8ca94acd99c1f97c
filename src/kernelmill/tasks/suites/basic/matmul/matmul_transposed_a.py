"""Product with the left operand stored transposed, A.T @ B. Copying the operand first costs extra
traffic."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.T @ b


rows = 896
inner = 1024
cols = 640

SCALES = {"gpu": {"rows": 4096, "inner": 4096, "cols": 2048}}
HIDDEN = [{"rows": 37, "inner": 19, "cols": 53}, {"rows": 251, "inner": 601, "cols": 127}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(inner, rows), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
