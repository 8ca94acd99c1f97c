"""Product of two matrices with three different side lengths. Tests a tiling that does not assume
squares."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


rows = 1024
inner = 1536
cols = 512

SCALES = {"gpu": {"rows": 4096, "inner": 6144, "cols": 2048}}
HIDDEN = [{"rows": 33, "inner": 65, "cols": 17}, {"rows": 257, "inner": 1021, "cols": 383}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
