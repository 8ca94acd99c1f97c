"""A transposed 2D convolution of stride two without bias, batch norm with the statistics of the
batch, and ReLU, as in image generators. The statistics need the whole result before any of it is
final."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(
            in_channels, out_channels, 4, stride=2, padding=1, bias=False
        )
        self.norm = nn.BatchNorm2d(out_channels, track_running_stats=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.conv(x)))


batch = 4
in_channels = 64
out_channels = 48
height = 28
width = 28

SCALES = {"gpu": {"batch": 64, "in_channels": 256, "out_channels": 128, "height": 32, "width": 32}}
HIDDEN = [
    {"batch": 1, "height": 7, "width": 13},
    {"batch": 3, "height": 17, "width": 11},
    {"batch": 2, "height": 23, "width": 29},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels]
