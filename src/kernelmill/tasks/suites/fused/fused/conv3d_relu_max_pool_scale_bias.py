"""A 3D convolution, ReLU, a max pool over 2x2x2 blocks, and a learned affine map per channel. Seven
of eight results vanish in the pool."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, 3, padding=1)
        self.scale = nn.Parameter(torch.randn(out_channels, 1, 1, 1))
        self.shift = nn.Parameter(torch.randn(out_channels, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.max_pool3d(F.relu(self.conv(x)), 2)
        return self.scale * h + self.shift


batch = 2
in_channels = 16
out_channels = 32
depth = 12
height = 24
width = 24

SCALES = {
    "gpu": {
        "batch": 4,
        "in_channels": 32,
        "out_channels": 64,
        "depth": 32,
        "height": 64,
        "width": 64,
    }
}
HIDDEN = [
    {"batch": 1, "depth": 5, "height": 7, "width": 11},
    {"batch": 2, "depth": 3, "height": 17, "width": 21},
    {"batch": 1, "depth": 11, "height": 23, "width": 19},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels]
