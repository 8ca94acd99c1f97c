"""1x1 convolution without bias, which is a matrix product over channels at every pixel."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 4
in_channels = 96
out_channels = 128
height = 56
width = 56

SCALES = {"gpu": {"batch": 64, "in_channels": 256, "out_channels": 256}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels]
