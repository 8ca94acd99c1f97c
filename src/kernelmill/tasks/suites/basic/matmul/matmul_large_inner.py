"""Matrix product with a small result and a very long inner dimension. Needs the inner dimension
split between workers."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


rows = 64
inner = 65536
cols = 64

SCALES = {"gpu": {"rows": 256, "inner": 524288, "cols": 256}}
HIDDEN = [{"inner": 509}, {"rows": 31, "inner": 20011, "cols": 37}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
