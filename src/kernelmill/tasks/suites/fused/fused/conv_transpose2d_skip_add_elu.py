"""A 2x2 transposed convolution of stride two, a feature map of the larger size added, and ELU: the
upward step of a U-Net. Without overlap each input pixel owns four outputs."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 2, stride=2)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        return F.elu(self.conv(x) + skip)


batch = 4
in_channels = 96
out_channels = 48
height = 32
width = 32

SCALES = {"gpu": {"batch": 64, "in_channels": 256, "out_channels": 128, "height": 48, "width": 48}}
HIDDEN = [
    {"batch": 1, "height": 7, "width": 19},
    {"batch": 3, "height": 23, "width": 11},
    {"batch": 2, "height": 29, "width": 31},
]


def get_inputs() -> list[torch.Tensor]:
    return [
        torch.randn(batch, in_channels, height, width),
        torch.randn(batch, out_channels, 2 * height, 2 * width),
    ]


def get_init_inputs() -> list:
    return [in_channels, out_channels]
