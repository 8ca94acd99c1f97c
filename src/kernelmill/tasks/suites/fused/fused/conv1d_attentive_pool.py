"""A 1D convolution with ReLU, one score per time step from a second convolution of the result, a
softmax of the scores over time, and the weighted sum of the features. A weighted pool in one
pass."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
        self.score = nn.Conv1d(out_channels, 1, 1, bias=False)
        self.sharpness = nn.Parameter(torch.full((1,), 12.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self.conv(x))
        weight = torch.softmax(self.sharpness * self.score(h), dim=2)
        return torch.sum(weight * h, dim=2)


batch = 12
in_channels = 96
out_channels = 160
kernel_size = 3
length = 512

SCALES = {"gpu": {"batch": 32, "in_channels": 256, "out_channels": 512, "length": 2048}}
HIDDEN = [{"batch": 1, "length": 37}, {"batch": 5, "length": 211}, {"batch": 7, "length": 389}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
