"""Depthwise 3x3 convolution: one filter per channel. Little arithmetic per byte, so reuse of loaded
rows decides the speed."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            channels, channels, kernel_size, padding=kernel_size // 2, groups=channels
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 4
channels = 128
kernel_size = 3
height = 80
width = 80

SCALES = {"gpu": {"batch": 64, "channels": 128}}
HIDDEN = [{"batch": 1, "height": 13, "width": 31}, {"batch": 3, "height": 29, "width": 17}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs() -> list:
    return [channels, kernel_size]
