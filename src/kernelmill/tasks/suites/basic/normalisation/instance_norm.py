"""Instance normalisation of images: every channel of every sample has its own mean and variance,
then a learned scale and shift."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch = 12
channels = 64
height = 84
width = 84

SCALES = {"gpu": {"batch": 64, "channels": 128, "height": 120, "width": 120}}
HIDDEN = [
    {"batch": 1, "height": 13, "width": 31},
    {"batch": 3, "height": 29, "width": 17},
    {"batch": 2, "height": 7, "width": 53},
]


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(batch, channels, 1, 1)
    shift = torch.randn(batch, channels, 1, 1)
    return [scale * torch.randn(batch, channels, height, width) + shift]


def get_init_inputs() -> list:
    return [channels]
