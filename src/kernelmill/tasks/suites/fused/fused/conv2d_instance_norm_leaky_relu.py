"""A strided 4x4 convolution without bias, instance norm with a learned affine map, and a leaky
ReLU, as in image-to-image discriminators. Each plane is small enough to normalise where it was
made."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, slope: float) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 4, stride=2, padding=1, bias=False)
        self.norm = nn.InstanceNorm2d(out_channels, affine=True)
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(self.norm(self.conv(x)), self.slope)


batch = 4
in_channels = 64
out_channels = 128
height = 64
width = 64
slope = 0.2

SCALES = {"gpu": {"batch": 64, "in_channels": 128, "out_channels": 256}}
HIDDEN = [
    {"batch": 1, "height": 14, "width": 26},
    {"batch": 3, "height": 37, "width": 22},
    {"batch": 2, "height": 61, "width": 53},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, slope]
