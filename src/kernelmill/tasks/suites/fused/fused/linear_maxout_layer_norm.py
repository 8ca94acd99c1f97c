"""A maxout layer (the largest of several linear maps per feature) followed by a layer norm. A
reduction inside the product's tile, then one across the row."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, pieces: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features * pieces)
        self.norm = nn.LayerNorm(out_features)
        self.pieces = pieces

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.linear(x).unflatten(1, (-1, self.pieces))
        return self.norm(torch.amax(h, dim=2))


batch = 768
in_features = 512
out_features = 224
pieces = 4

SCALES = {"gpu": {"batch": 16384, "in_features": 1024, "out_features": 1024}}
HIDDEN = [{"batch": 1}, {"batch": 59}, {"batch": 359}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_features)]


def get_init_inputs() -> list:
    return [in_features, out_features, pieces]
