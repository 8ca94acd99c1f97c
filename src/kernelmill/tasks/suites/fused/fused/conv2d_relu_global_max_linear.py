"""A 3x3 convolution with ReLU, the maximum of every plane, and a linear classifier on the maxima.
The convolution's result is only looked at for its largest values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, channels: int, classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, channels, 3, padding=1)
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.amax(F.relu(self.conv(x)), dim=(2, 3))
        return self.linear(h)


batch = 8
in_channels = 48
channels = 96
classes = 64
height = 32
width = 32

SCALES = {
    "gpu": {
        "batch": 128,
        "in_channels": 128,
        "channels": 256,
        "classes": 256,
        "height": 32,
        "width": 32,
    }
}
HIDDEN = [
    {"batch": 3, "height": 7, "width": 13},
    {"batch": 5, "height": 19, "width": 23},
    {"batch": 7, "height": 31, "width": 29},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, channels, classes]
