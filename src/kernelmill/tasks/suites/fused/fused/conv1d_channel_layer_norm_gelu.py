"""A strided 1D convolution, a layer norm over the channels of each time step, and GELU, as in
speech feature extractors. The norm runs across the dimension the convolution lays out with a
stride."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, stride=stride)
        self.norm = nn.LayerNorm(out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.conv(x).transpose(1, 2))
        return F.gelu(h.transpose(1, 2))


batch = 8
in_channels = 96
out_channels = 128
kernel_size = 3
stride = 2
length = 1025

SCALES = {"gpu": {"batch": 32, "in_channels": 256, "out_channels": 512, "length": 4097}}
HIDDEN = [{"batch": 1, "length": 31}, {"batch": 3, "length": 257}, {"batch": 5, "length": 600}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size, stride]
