"""Three-dimensional convolution with a flat 3x5x2 filter and stride in time only, as in video
models."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(
            in_channels, out_channels, (3, 5, 2), stride=(2, 1, 1), padding=(1, 2, 0)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 3
in_channels = 16
out_channels = 32
depth = 16
height = 24
width = 28

SCALES = {
    "gpu": {
        "batch": 8,
        "in_channels": 32,
        "out_channels": 64,
        "depth": 32,
        "height": 48,
        "width": 56,
    }
}
HIDDEN = [
    {"batch": 1, "depth": 5, "height": 7, "width": 11},
    {"batch": 1, "depth": 13, "height": 17, "width": 19},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels]
