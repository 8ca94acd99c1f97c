"""Mean over sliding windows of a sequence; padded zeros count as values."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool1d(kernel_size, stride, padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


batch = 16
channels = 64
length = 2048
kernel_size = 6
stride = 2
padding = 2

SCALES = {"gpu": {"batch": 64, "channels": 512, "length": 4096}}
HIDDEN = [{"batch": 1, "length": 101}, {"batch": 3, "channels": 7, "length": 257}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, length)]


def get_init_inputs() -> list:
    return [kernel_size, stride, padding]
