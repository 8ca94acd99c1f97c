"""A 3x3 convolution, a learned number subtracted per channel, Mish, and a learned factor per pixel
position in the row. Cheap to fuse, but Mish costs several transcendental functions per element."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.offset = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.mish(self.conv(x) - self.offset) * self.scale


batch = 3
in_channels = 32
out_channels = 64
height = 56
width = 56

SCALES = {"gpu": {"batch": 64, "in_channels": 64, "out_channels": 128, "width": 64}}
HIDDEN = [{"batch": 1, "height": 17}, {"batch": 2, "height": 5}, {"batch": 2, "height": 53}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, width]
