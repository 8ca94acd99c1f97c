"""Matrix product with a short inner dimension and a large result. Bound by writing the output."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


rows = 3072
inner = 24
cols = 3072

SCALES = {"gpu": {"rows": 16384, "inner": 32, "cols": 16384}}
HIDDEN = [{"rows": 17, "cols": 29}, {"rows": 1031, "inner": 11, "cols": 619}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
