"""Copies rows in a given order, some of them repeatedly. A gather of whole rows at copy speed."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.index_select(x, 0, index)


rows = 5000
features = 1024
picks = 6000

SCALES = {"gpu": {"rows": 100000, "features": 1024, "picks": 150000}}
HIDDEN = [{"rows": 3, "picks": 7}, {"rows": 101, "features": 61, "picks": 37}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, features), torch.randint(0, rows, (picks,))]


def get_init_inputs() -> list:
    return []
