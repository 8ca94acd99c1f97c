"""Convolution with a 3x7 filter, unequal strides and unequal padding on non-square images. Catches
any mix-up of height and width."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_height: int, kernel_width: int
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels,
            out_channels,
            (kernel_height, kernel_width),
            stride=(2, 1),
            padding=(1, 2),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 4
in_channels = 32
out_channels = 48
kernel_height = 3
kernel_width = 7
height = 48
width = 80

SCALES = {"gpu": {"batch": 64, "in_channels": 64, "out_channels": 128, "height": 96, "width": 160}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_height, kernel_width]
