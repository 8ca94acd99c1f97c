"""A 3D convolution without bias, instance norm with a learned affine map, a leaky ReLU, and the
input added back. Each volume has its own statistics, taken over all three extents."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, slope: float) -> None:
        super().__init__()
        self.conv = nn.Conv3d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.InstanceNorm3d(channels, affine=True)
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.leaky_relu(self.norm(self.conv(x)), self.slope)


batch = 2
channels = 24
depth = 12
height = 24
width = 24
slope = 0.1

SCALES = {"gpu": {"batch": 4, "channels": 48, "depth": 32, "height": 64, "width": 64}}
HIDDEN = [
    {"batch": 1, "depth": 5, "height": 7, "width": 11},
    {"batch": 2, "depth": 3, "height": 19, "width": 13},
    {"batch": 1, "depth": 11, "height": 23, "width": 17},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, depth, height, width)]


def get_init_inputs() -> list:
    return [channels, slope]
