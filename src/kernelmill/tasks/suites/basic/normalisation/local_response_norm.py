"""Local response normalisation: each value is divided by a power of the energy in a window of
neighbouring channels."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.LocalResponseNorm(size, alpha=0.1, beta=0.75, k=2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch = 4
channels = 48
height = 56
width = 56
size = 5

SCALES = {"gpu": {"batch": 32, "channels": 96, "height": 110, "width": 110}}
HIDDEN = [
    {"batch": 1, "height": 13, "width": 31},
    {"batch": 3, "height": 29, "width": 17},
    {"batch": 2, "height": 7, "width": 53},
]


def get_inputs() -> list[torch.Tensor]:
    return [5.0 * torch.randn(batch, channels, height, width)]


def get_init_inputs() -> list:
    return [size]
