"""One matrix-vector product per batch entry, as in decoding one token. Bandwidth bound, with many
short products."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, matrix: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
        return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


batch = 512
rows = 96
cols = 224

SCALES = {"gpu": {"batch": 4096, "rows": 256, "cols": 256}}
HIDDEN = [{"batch": 1, "rows": 7}, {"batch": 13, "rows": 37, "cols": 101}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, rows, cols), torch.randn(batch, cols)]


def get_init_inputs() -> list:
    return []
