"""Three-dimensional 3x3x3 convolution with padding on a batch of volumes."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 2
in_channels = 16
out_channels = 24
kernel_size = 3
depth = 16
height = 24
width = 24

SCALES = {
    "gpu": {
        "batch": 8,
        "in_channels": 32,
        "out_channels": 64,
        "depth": 32,
        "height": 48,
        "width": 48,
    }
}
HIDDEN = [
    {"batch": 1, "depth": 5, "height": 7, "width": 11},
    {"batch": 1, "depth": 13, "height": 17, "width": 19},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
