"""Matrix with few, very long rows times a vector. Each matrix element is used once, so only
bandwidth counts, and rows must be split to fill a machine."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        return torch.mv(matrix, vector)


rows = 90
cols = 131072

SCALES = {"gpu": {"rows": 256, "cols": 1048576}}
HIDDEN = [{"rows": 5, "cols": 1009}, {"rows": 1021, "cols": 769}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, cols), torch.randn(cols)]


def get_init_inputs() -> list:
    return []
