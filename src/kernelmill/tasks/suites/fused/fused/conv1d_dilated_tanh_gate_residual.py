"""A dilated 1D convolution split into a tanh half and a sigmoid gate, a pointwise convolution of
their product, and the input added back: one layer of a WaveNet-like stack."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels: int, kernel_size: int, dilation: int) -> None:
        super().__init__()
        padding = dilation * (kernel_size - 1) // 2
        self.conv = nn.Conv1d(
            channels, 2 * channels, kernel_size, padding=padding, dilation=dilation
        )
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = self.conv(x).chunk(2, dim=1)
        return x + self.mix(torch.tanh(value) * torch.sigmoid(gate))


batch = 4
channels = 64
kernel_size = 3
dilation = 4
length = 1536

SCALES = {"gpu": {"batch": 32, "channels": 128, "length": 8192}}
HIDDEN = [{"batch": 1, "length": 37}, {"batch": 3, "length": 233}, {"batch": 2, "length": 1021}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, length)]


def get_init_inputs() -> list:
    return [channels, kernel_size, dilation]
