"""A depthwise 7x7 convolution, a layer norm over the channels of each pixel, a pointwise expansion
and GELU: the first half of a ConvNeXt block. Stencil, row reduction and matrix product in a
chain."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.expand = nn.Linear(channels, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.depthwise(x).permute(0, 2, 3, 1)
        return F.gelu(self.expand(self.norm(h)))


batch = 3
channels = 96
hidden = 288
height = 32
width = 32

SCALES = {"gpu": {"batch": 64, "hidden": 384, "height": 56, "width": 56}}
HIDDEN = [
    {"batch": 1, "height": 7, "width": 13},
    {"batch": 1, "height": 29, "width": 31},
    {"batch": 2, "height": 17, "width": 5},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs() -> list:
    return [channels, hidden]
