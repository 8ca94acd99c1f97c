"""Grouped transposed 3x3 convolution with stride two and output padding. Index arithmetic in both
directions within each group."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, groups: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=2,
            padding=1,
            output_padding=1,
            groups=groups,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 4
in_channels = 64
out_channels = 64
kernel_size = 3
groups = 4
height = 40
width = 40

SCALES = {"gpu": {"batch": 64, "in_channels": 128, "out_channels": 128, "height": 56, "width": 56}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size, groups]
