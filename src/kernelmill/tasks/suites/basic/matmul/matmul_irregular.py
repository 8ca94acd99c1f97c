"""Matrix product whose sides are all prime, so no tile divides evenly and edge handling is
everywhere."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


rows = 1031
inner = 839
cols = 787

SCALES = {"gpu": {"rows": 4099, "inner": 3067, "cols": 3491}}
HIDDEN = [{"rows": 1, "inner": 7, "cols": 13}, {"rows": 101, "inner": 211, "cols": 307}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list:
    return []
