"""Opens the residual stream into several: each copy of a hidden state gets its own learned gain
and offset per feature. One read, several writes.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, streams: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(1 + 0.5 * torch.randn(streams, features))
        self.bias = nn.Parameter(torch.randn(streams, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        copies = x.unsqueeze(1).expand(-1, self.weight.shape[0], -1)
        return copies * self.weight + self.bias


tokens = 2048
streams = 4
features = 768

SCALES = {"gpu": {"tokens": 16384, "features": 2048}}
HIDDEN = [{"tokens": 1}, {"tokens": 37}, {"tokens": 1021}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, features)]


def get_init_inputs() -> list:
    return [streams, features]
