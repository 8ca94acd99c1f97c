"""Causal depthwise convolution over time, as in state-space models: each channel has its own short
filter and sees only the past."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (self.kernel_size - 1, 0))
        return self.conv(padded)


batch = 8
channels = 320
kernel_size = 4
length = 1024

SCALES = {"gpu": {"batch": 16, "channels": 2048, "length": 4096}}
HIDDEN = [{"batch": 1, "length": 3}, {"batch": 3, "length": 257}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, length)]


def get_init_inputs() -> list:
    return [channels, kernel_size]
