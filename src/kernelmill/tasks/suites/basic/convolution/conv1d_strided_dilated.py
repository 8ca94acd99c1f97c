"""One-dimensional convolution with both a stride and a dilation, without padding. Tests index
arithmetic on the input side."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, dilation: int
    ) -> None:
        super().__init__()
        self.conv = nn.Conv1d(
            in_channels, out_channels, kernel_size, stride=stride, dilation=dilation
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 16
in_channels = 64
out_channels = 128
kernel_size = 5
stride = 2
dilation = 3
length = 1024

SCALES = {"gpu": {"batch": 64, "in_channels": 256, "out_channels": 256, "length": 8192}}
HIDDEN = [{"batch": 1, "length": 101}, {"batch": 3, "length": 257}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size, stride, dilation]
