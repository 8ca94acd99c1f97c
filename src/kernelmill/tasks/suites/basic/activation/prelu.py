"""ReLU whose negative slope is learned per channel of an image batch. Tests broadcasting a small
parameter along the second of four dimensions."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.activation = nn.PReLU(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(x)


batch = 17
channels = 96
height = 60
width = 60

SCALES = {"gpu": {"batch": 64, "channels": 256, "height": 90, "width": 90}}
HIDDEN = [
    {"batch": 1},
    {"batch": 3, "height": 17, "width": 23},
    {"batch": 5, "height": 7, "width": 59},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs() -> list:
    return [channels]
