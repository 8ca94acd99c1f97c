"""A 3x3 convolution to several times the channels, rearranged into a larger image, with a PReLU per
channel, as in super-resolution. The rearrangement should be the convolution's store pattern."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, factor: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels * factor**2, 3, padding=1)
        self.activation = nn.PReLU(out_channels)
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(F.pixel_shuffle(self.conv(x), self.factor))


batch = 3
in_channels = 48
out_channels = 24
factor = 2
height = 56
width = 56

SCALES = {"gpu": {"batch": 24, "in_channels": 64, "out_channels": 64, "height": 96, "width": 96}}
HIDDEN = [
    {"batch": 1, "height": 11, "width": 37},
    {"batch": 2, "height": 29, "width": 43},
    {"batch": 2, "height": 53, "width": 47},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, factor]
