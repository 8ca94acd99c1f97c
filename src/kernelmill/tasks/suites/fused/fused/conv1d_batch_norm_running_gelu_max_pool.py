"""A 1D convolution, batch norm with stored statistics, GELU and a max pool along time. The pool
throws half of the values away before they would have to be written."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
        self.weight = nn.Parameter(torch.ones(out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.register_buffer("running_mean", torch.zeros(out_channels))
        self.register_buffer("running_var", torch.ones(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.conv(x)
        h = F.batch_norm(
            h, self.running_mean, self.running_var, self.weight, self.bias, training=False
        )
        return F.max_pool1d(F.gelu(h), 2)


batch = 8
in_channels = 64
out_channels = 96
kernel_size = 5
length = 1024

SCALES = {"gpu": {"batch": 48, "in_channels": 128, "out_channels": 256, "length": 4096}}
HIDDEN = [{"batch": 1, "length": 61}, {"batch": 3, "length": 509}, {"batch": 5, "length": 128}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, length)]


def get_init_inputs() -> list:
    return [in_channels, out_channels, kernel_size]
