"""Upsampling transposed 4x4 convolution with stride two, as in image generators. Output pixels fall
into four phases with separate taps."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 4
in_channels = 48
out_channels = 32
kernel_size = 4
height = 40
width = 40

SCALES = {"gpu": {"batch": 64, "in_channels": 128, "out_channels": 64, "height": 64, "width": 64}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
