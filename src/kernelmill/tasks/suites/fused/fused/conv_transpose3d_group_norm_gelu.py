"""A transposed 3D convolution of stride two, group norm over volumes, and GELU. The result is eight
times the input's extent, so every extra sweep over it is felt."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, groups: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, 2, stride=2)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.norm(self.conv(x)))


batch = 2
in_channels = 48
out_channels = 24
groups = 4
depth = 8
height = 18
width = 18

SCALES = {
    "gpu": {
        "batch": 8,
        "in_channels": 64,
        "out_channels": 32,
        "depth": 24,
        "height": 40,
        "width": 40,
    }
}
HIDDEN = [
    {"batch": 1, "depth": 3, "height": 5, "width": 7},
    {"batch": 2, "depth": 5, "height": 11, "width": 13},
    {"batch": 1, "depth": 7, "height": 17, "width": 13},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, groups]
