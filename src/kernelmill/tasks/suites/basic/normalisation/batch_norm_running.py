"""Batch normalisation of images with stored running statistics. Folds into one multiply and one add
per element."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", 0.5 * torch.randn(channels))
        self.register_buffer("running_var", 0.5 + torch.rand(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training=False,
            eps=self.eps,
        )


batch = 12
channels = 64
height = 84
width = 84
eps = 1e-5

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
    return [channels, eps]
