"""Softmax over the channel dimension of images. The reduced dimension is strided, so adjacent
pixels should be handled together."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.softmax(x, dim=1)


batch = 16
channels = 48
height = 84
width = 84

SCALES = {"gpu": {"batch": 64, "channels": 64, "height": 180, "width": 180}}
HIDDEN = [
    {"batch": 1, "height": 13, "width": 31},
    {"batch": 3, "channels": 19, "height": 29, "width": 17},
]


def get_inputs() -> list[torch.Tensor]:
    return [2.0 * torch.randn(batch, channels, height, width)]


def get_init_inputs() -> list:
    return []
