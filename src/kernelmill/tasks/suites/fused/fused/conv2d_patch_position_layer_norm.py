"""Non-overlapping patches through one convolution, learned positions added, and a layer norm of
every token: the front of a vision transformer. The convolution is a matrix product with a gather in
front."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_channels: int, features: int, patch: int, tokens: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, features, patch, stride=patch)
        self.position = nn.Parameter(0.5 * torch.randn(tokens, features))
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.conv(x).flatten(2).transpose(1, 2)
        return self.norm(tokens + self.position)


batch = 12
in_channels = 3
features = 256
patch = 16
side = 128

SCALES = {"gpu": {"batch": 128, "features": 768, "side": 224}}
HIDDEN = [{"batch": 1}, {"batch": 5}, {"batch": 11}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_channels, side, side)]


def get_init_inputs() -> list:
    return [in_channels, features, patch, (side // patch) ** 2]
