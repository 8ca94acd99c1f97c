"""Transposed three-dimensional convolution with stride two, doubling every side of a volume."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, kernel_size, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 2
in_channels = 16
out_channels = 12
kernel_size = 4
depth = 8
height = 20
width = 20

SCALES = {
    "gpu": {
        "batch": 8,
        "in_channels": 32,
        "out_channels": 32,
        "depth": 16,
        "height": 32,
        "width": 32,
    }
}
HIDDEN = [
    {"batch": 1, "depth": 3, "height": 5, "width": 7},
    {"batch": 1, "depth": 7, "height": 11, "width": 13},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
