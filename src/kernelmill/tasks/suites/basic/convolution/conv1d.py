"""One-dimensional convolution with padding and bias over a batch of sequences."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch = 16
in_channels = 64
out_channels = 96
kernel_size = 5
length = 512

SCALES = {
    "gpu": {"batch": 64, "in_channels": 256, "out_channels": 256, "kernel_size": 5, "length": 4096}
}
HIDDEN = [{"batch": 1, "length": 101}, {"batch": 3, "length": 257}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
