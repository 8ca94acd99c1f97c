"""A depthwise 3D convolution, GELU, a pointwise mix of the channels, and the input added back, as
in video networks. A stencil with almost no arithmetic feeds a small matrix product."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv3d(channels, channels, 3, padding=1, groups=channels)
        self.pointwise = nn.Conv3d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.pointwise(F.gelu(self.depthwise(x)))


batch = 2
channels = 64
depth = 8
height = 28
width = 28

SCALES = {"gpu": {"batch": 8, "channels": 64, "depth": 16, "height": 56, "width": 56}}
HIDDEN = [
    {"batch": 1, "depth": 3, "height": 11, "width": 7},
    {"batch": 2, "depth": 5, "height": 13, "width": 17},
    {"batch": 1, "depth": 7, "height": 23, "width": 19},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, depth, height, width)]


def get_init_inputs() -> list:
    return [channels]
