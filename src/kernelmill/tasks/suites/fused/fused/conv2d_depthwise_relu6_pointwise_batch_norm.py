"""A depthwise 3x3 convolution with ReLU6, a pointwise convolution to fewer channels, and batch norm
with stored statistics: the narrow end of an inverted residual block."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(in_channels, in_channels, 3, padding=1, groups=in_channels)
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1, bias=False)

        self.weight = nn.Parameter(torch.ones(out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.register_buffer("running_mean", torch.zeros(out_channels))
        self.register_buffer("running_var", torch.ones(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.pointwise(F.relu6(self.depthwise(x)))
        return F.batch_norm(
            h, self.running_mean, self.running_var, self.weight, self.bias, training=False
        )


batch = 4
in_channels = 192
out_channels = 48
height = 48
width = 48

SCALES = {"gpu": {"batch": 64, "in_channels": 384, "out_channels": 96, "height": 56, "width": 56}}
HIDDEN = [
    {"batch": 1, "height": 17, "width": 23},
    {"batch": 3, "height": 11, "width": 41},
    {"batch": 2, "height": 47, "width": 43},
]


def get_inputs() -> list[torch.Tensor]:
    return [3.0 * torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, out_channels]
