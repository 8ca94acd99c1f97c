"""A strided transposed 1D convolution and the snake activation, x plus sin^2(ax)/a with a learned
frequency per channel, as in vocoders. Overlapping writes and a transcendental epilogue."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(
            in_channels, out_channels, 2 * stride, stride=stride, padding=stride // 2
        )
        self.frequency = nn.Parameter(torch.rand(out_channels, 1) + 1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.conv(x)
        return h + torch.square(torch.sin(self.frequency * h)) / self.frequency


batch = 4
in_channels = 128
out_channels = 64
stride = 4
length = 512

SCALES = {"gpu": {"batch": 16, "in_channels": 256, "out_channels": 128, "length": 4096}}
HIDDEN = [{"batch": 1, "length": 37}, {"batch": 3, "length": 127}, {"batch": 2, "length": 499}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, stride]
