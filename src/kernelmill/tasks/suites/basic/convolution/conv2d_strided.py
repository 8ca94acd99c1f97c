"""First layer of an image network: few input channels, a 7x7 filter, stride two, padding three."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 6
in_channels = 3
out_channels = 48
kernel_size = 7
stride = 2
padding = 3
height = 128
width = 128

SCALES = {"gpu": {"batch": 128, "out_channels": 64, "height": 224, "width": 224}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size, stride, padding]
