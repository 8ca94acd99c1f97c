"""A transposed 3D convolution, a sharpened softmax over the channels of every voxel, and a learned
factor per channel, as in volumetric segmentation. The channel reduction runs against the layout."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, classes: int, sharpness: float) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, classes, 3, padding=1)
        self.scale = nn.Parameter(torch.randn(classes, 1, 1, 1))
        self.sharpness = sharpness

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.sharpness * self.conv(x), dim=1) * self.scale


batch = 2
in_channels = 24
classes = 16
depth = 14
height = 24
width = 24
sharpness = 3.0

SCALES = {
    "gpu": {"batch": 8, "in_channels": 32, "classes": 24, "depth": 32, "height": 64, "width": 64}
}
HIDDEN = [
    {"batch": 1, "depth": 5, "height": 7, "width": 11},
    {"batch": 2, "depth": 3, "height": 17, "width": 13},
    {"batch": 1, "depth": 11, "height": 19, "width": 17},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs() -> list:
    return [in_channels, classes, sharpness]
