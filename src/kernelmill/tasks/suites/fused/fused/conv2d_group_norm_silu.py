"""A 3x3 convolution, group norm, and SiLU, the building block of diffusion models. The statistics
span a whole image and so force a second pass, which should read as little as possible."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, groups: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.norm = nn.GroupNorm(groups, out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.norm(self.conv(x)))


batch = 4
in_channels = 48
out_channels = 80
groups = 8
height = 48
width = 48

SCALES = {
    "gpu": {
        "batch": 32,
        "in_channels": 128,
        "out_channels": 256,
        "groups": 32,
        "height": 64,
        "width": 64,
    }
}
HIDDEN = [
    {"batch": 1, "height": 11, "width": 23},
    {"batch": 3, "height": 31, "width": 17},
    {"batch": 2, "height": 47, "width": 41},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, groups]
