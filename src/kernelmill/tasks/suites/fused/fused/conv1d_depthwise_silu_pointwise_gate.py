"""A depthwise causal 1D convolution, SiLU, a pointwise convolution, and a product with the SiLU of
a second input. Short filters feed a matrix product, so the first stage should be made on the
fly."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(channels, channels, kernel_size, groups=channels)
        self.pointwise = nn.Conv1d(channels, channels, 1)
        self.kernel_size = kernel_size

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        h = F.silu(self.depthwise(F.pad(x, (self.kernel_size - 1, 0))))
        return self.pointwise(h) * F.silu(z)


batch = 4
channels = 256
kernel_size = 4
length = 512

SCALES = {"gpu": {"batch": 16, "channels": 1024, "length": 2048}}
HIDDEN = [{"batch": 1, "length": 19}, {"batch": 3, "length": 127}, {"batch": 2, "length": 401}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, channels, length), torch.randn(batch, channels, length)]


def get_init_inputs() -> list:
    return [channels, kernel_size]
