"""Layer normalisation over channels, height and width together. Few, very long rows, so each must
be split between workers."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, height: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((channels, height, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch = 10
channels = 64
height = 88
width = 88

SCALES = {"gpu": {"batch": 16, "channels": 64, "height": 256, "width": 256}}
HIDDEN = [{"batch": 1}, {"batch": 3}, {"batch": 7}]


def get_inputs() -> list[torch.Tensor]:
    scale = 0.5 + torch.rand(batch, 1, 1, 1)
    shift = torch.randn(batch, 1, 1, 1)
    return [scale * torch.randn(batch, channels, height, width) + shift]


def get_init_inputs() -> list:
    return [channels, height, width]
