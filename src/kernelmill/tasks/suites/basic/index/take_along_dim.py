"""Picks several elements from every row by position, in arbitrary order. Random reads within a row,
contiguous writes."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.take_along_dim(x, index, dim=1)


batch = 2048
features = 1024
picks = 768

SCALES = {"gpu": {"batch": 32768, "features": 2048, "picks": 2048}}
HIDDEN = [{"batch": 1, "features": 1009, "picks": 3}, {"batch": 37, "features": 101, "picks": 211}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, features), torch.randint(0, features, (batch, picks))]


def get_init_inputs() -> list:
    return []
