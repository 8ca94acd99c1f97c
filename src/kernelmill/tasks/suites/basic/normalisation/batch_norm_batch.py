"""Batch normalisation of images with the statistics of the batch itself. A reduction over three of
four dimensions, then an elementwise pass."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, track_running_stats=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch = 12
channels = 64
height = 84
width = 84

SCALES = {"gpu": {"batch": 64, "channels": 128, "height": 120, "width": 120}}
HIDDEN = [
    {"batch": 1, "height": 13, "width": 31},
    {"batch": 3, "height": 29, "width": 17},
    {"batch": 2, "height": 7, "width": 53},
]


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(channels, 1, 1)
    shift = torch.randn(channels, 1, 1)
    return [scale * torch.randn(batch, channels, height, width) + shift]


def get_init_inputs() -> list:
    return [channels]
