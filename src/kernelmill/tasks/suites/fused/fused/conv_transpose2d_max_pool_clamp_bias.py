"""A transposed 2D convolution, a max pool over 3x3 windows, a clamp, and a learned bias per
channel. The pool makes neighbouring output pixels depend on each other."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, low: float, high: float) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 3, stride=2, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.low = low
        self.high = high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.max_pool2d(self.conv(x), 3, stride=2)
        return torch.clamp(h, self.low, self.high) + self.bias


batch = 4
in_channels = 64
out_channels = 48
height = 32
width = 32
low = 0.1
high = 1.0

SCALES = {"gpu": {"batch": 64, "in_channels": 128, "out_channels": 128, "height": 56, "width": 56}}
HIDDEN = [
    {"batch": 1, "height": 11, "width": 19},
    {"batch": 3, "height": 7, "width": 29},
    {"batch": 2, "height": 31, "width": 23},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, low, high]
