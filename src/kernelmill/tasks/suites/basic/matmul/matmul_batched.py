"""A batch of independent mid-sized matrix products. Parallelism comes from the batch as well as
from tiles."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


batch = 32
rows = 192
inner = 256
cols = 192

SCALES = {"gpu": {"batch": 128, "rows": 1024, "inner": 256, "cols": 1024}}
HIDDEN = [{"batch": 1}, {"batch": 5, "rows": 67, "inner": 101, "cols": 43}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, rows, inner), torch.randn(batch, inner, cols)]


def get_init_inputs() -> list:
    return []
