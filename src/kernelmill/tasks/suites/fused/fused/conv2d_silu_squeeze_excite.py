"""A 3x3 convolution with SiLU, then squeeze and excitation: the mean of each plane through two
small linear layers gives a gate per channel. A global reduction decides how the large tensor is
scaled."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels: int, channels: int, reduced: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, channels, 3, padding=1)
        self.squeeze = nn.Linear(channels, reduced)
        self.excite = nn.Linear(reduced, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.silu(self.conv(x))
        gate = torch.sigmoid(self.excite(F.silu(self.squeeze(8.0 * torch.mean(h, dim=(2, 3))))))
        return h * gate[:, :, None, None]


batch = 4
in_channels = 48
channels = 80
reduced = 20
height = 48
width = 48

SCALES = {"gpu": {"batch": 64, "in_channels": 128, "channels": 192, "reduced": 48}}
HIDDEN = [
    {"batch": 1, "height": 13, "width": 19},
    {"batch": 3, "height": 37, "width": 29},
    {"batch": 2, "height": 41, "width": 47},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs() -> list:
    return [in_channels, channels, reduced]
