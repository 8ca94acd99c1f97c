"""Depthwise 3x3 convolution followed by a 1x1 mixing of channels. Keeping the intermediate image
out of memory is the gain to be had."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(
            in_channels, in_channels, kernel_size, padding=kernel_size // 2, groups=in_channels
        )
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pointwise(self.depthwise(x))


batch = 4
in_channels = 64
out_channels = 96
kernel_size = 3
height = 64
width = 64

SCALES = {"gpu": {"batch": 64, "in_channels": 128, "out_channels": 256}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
