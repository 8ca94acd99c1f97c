"""Fully connected layer with bias on a batch of rows. The bias should be added while the result is
still in registers."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


batch = 512
in_features = 1024
out_features = 1024

SCALES = {"gpu": {"batch": 4096, "in_features": 4096, "out_features": 4096}}
HIDDEN = [{"batch": 1}, {"batch": 37}, {"batch": 211}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_features)]


def get_init_inputs() -> list:
    return [in_features, out_features]
