"""Convolution with a wide 11x11 filter and few channels. Direct reuse of the input window beats
unfolding it in memory."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 2
in_channels = 8
out_channels = 16
kernel_size = 11
height = 96
width = 96

SCALES = {"gpu": {"batch": 32, "in_channels": 16, "out_channels": 32, "height": 192, "width": 192}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
