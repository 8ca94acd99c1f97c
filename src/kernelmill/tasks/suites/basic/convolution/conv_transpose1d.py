"""Transposed one-dimensional convolution with stride and dilation. Each input is scattered over
several outputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, dilation: int
    ) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(
            in_channels, out_channels, kernel_size, stride=stride, dilation=dilation
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 12
in_channels = 64
out_channels = 48
kernel_size = 5
stride = 2
dilation = 2
length = 512

SCALES = {"gpu": {"batch": 32, "in_channels": 256, "out_channels": 256, "length": 4096}}
HIDDEN = [{"batch": 1, "length": 53}, {"batch": 3, "length": 211}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size, stride, dilation]
