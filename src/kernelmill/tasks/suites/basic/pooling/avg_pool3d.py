"""Mean over 3x3x3 windows of volumes with stride two and padding; padded zeros count as values."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool3d(kernel_size, stride, padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch = 2
channels = 32
depth = 32
height = 48
width = 48
kernel_size = 3
stride = 2
padding = 1

SCALES = {"gpu": {"batch": 16, "channels": 32, "depth": 48, "height": 64, "width": 64}}
HIDDEN = [
    {"batch": 1, "depth": 7, "height": 11, "width": 13},
    {"batch": 2, "channels": 3, "depth": 13, "height": 17, "width": 9},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, depth, height, width)]


def get_init_inputs() -> list:
    return [kernel_size, stride, padding]
