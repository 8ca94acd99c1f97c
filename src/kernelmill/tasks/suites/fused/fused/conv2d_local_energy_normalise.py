"""A 5x5 convolution and its divisive normalisation: every value over the root of a learned constant
plus a learned mix of the squared channels at the same pixel. A second small product inside the
epilogue."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, channels, 5, stride=2, padding=2)
        self.gamma = nn.Parameter(torch.rand(channels, channels, 1, 1) * 2.0 / channels)
        self.beta = nn.Parameter(torch.rand(channels) * 0.2 + 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.conv(x)
        energy = F.conv2d(h * h, self.gamma.abs(), self.beta.abs())
        return h * torch.rsqrt(energy)


batch = 4
in_channels = 32
channels = 64
height = 80
width = 80

SCALES = {"gpu": {"batch": 32, "in_channels": 64, "channels": 128, "height": 128, "width": 128}}
HIDDEN = [
    {"batch": 1, "height": 17, "width": 31},
    {"batch": 3, "height": 45, "width": 23},
    {"batch": 2, "height": 79, "width": 71},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, channels]
